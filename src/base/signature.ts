import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { recoverAddress } from 'ox/Secp256k1'
import { fromHex } from 'ox/Signature'
import type { Address } from './address.ts'

const SHAPE = /^(?:0x)?([0-9a-fA-F]{130})$/

/** Order of secp256k1 (SEC 2); an s above half of it is malleable. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Low s (EIP-2), v 27 or 28. */
export type Signature = `0x${string}`

/** The `0x` is optional. Accepts only r, s > 0, low s, and v of 0, 1, 27 or 28. */
export function parseSignature(text: string): Signature | undefined {
  const hex = SHAPE.exec(text)?.[1]?.toLowerCase()
  if (hex === undefined) return undefined
  const r = BigInt(`0x${hex.slice(0, 64)}`)
  const s = BigInt(`0x${hex.slice(64, 128)}`)
  const v = Number(`0x${hex.slice(128)}`)
  if (r === 0n || r >= ORDER || s === 0n || s > ORDER / 2n) return undefined
  if (v !== 0 && v !== 1 && v !== 27 && v !== 28) return undefined
  return `0x${hex.slice(0, 128)}${(v % 27 === 0 ? 27 : 28).toString(16)}`
}

/** Recovers the signer of a `personal_sign` (EIP-191). */
export function recoverSigner(message: string, signature: Signature): Address | undefined {
  try {
    const payload = getSignPayload(fromString(message))
    const signer = recoverAddress({ payload, signature: fromHex(signature) })
    return signer.toLowerCase() as Address
  } catch {
    return undefined
  }
}
