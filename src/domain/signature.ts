import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { recoverAddress } from 'ox/Secp256k1'
import { fromHex } from 'ox/Signature'
import type { Address } from './address.ts'

const SHAPE = /^0x[0-9a-fA-F]{130}$/

/** Order of secp256k1 (SEC 2); a signature with s above its half has a twin and is refused. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** A 65-byte signature in its one accepted form: low s (EIP-2), v as 27 or 28. */
export type Signature = `0x${string}`

/** Reads `0x` and 130 hex digits; undefined unless low s, r and s above zero, v in 0, 1, 27, 28. */
export function parseSignature(text: string): Signature | undefined {
  if (!SHAPE.test(text)) return undefined
  const hex = text.toLowerCase()
  const r = BigInt(`0x${hex.slice(2, 66)}`)
  const s = BigInt(`0x${hex.slice(66, 130)}`)
  const v = Number(`0x${hex.slice(130)}`)
  if (r === 0n || r >= ORDER || s === 0n || s > ORDER / 2n) return undefined
  if (v !== 0 && v !== 1 && v !== 27 && v !== 28) return undefined
  return `0x${hex.slice(2, 130)}${(v % 27 === 0 ? 27 : 28).toString(16)}`
}

/**
 * The wallet that signed a text as `personal_sign` does (EIP-191), computed here without a node;
 * undefined when no wallet can have signed it.
 */
export function recoverSigner(message: string, signature: Signature): Address | undefined {
  try {
    const payload = getSignPayload(fromString(message))
    const signer = recoverAddress({ payload, signature: fromHex(signature) })
    return signer.toLowerCase() as Address
  } catch {
    return undefined
  }
}
