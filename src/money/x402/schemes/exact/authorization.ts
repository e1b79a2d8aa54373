import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import { recoverAddress } from 'ox/Secp256k1'
import { fromHex } from 'ox/Signature'
import { getSignPayload } from 'ox/TypedData'
import type { Address, Hash } from '#domain/address.ts'
import { parseSignature } from '#domain/signature.ts'
import type { Authorization, Signed } from '../scheme.ts'

interface SignedAsset {
  readonly chainId: number
  readonly asset: Address
  readonly domain: { readonly name: string; readonly version: string }
}

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** EIP-712 digest of an EIP-3009 authorization. */
export function digestOf(asset: SignedAsset, authorization: Authorization): Hash {
  return getSignPayload({
    domain: { ...asset.domain, chainId: asset.chainId, verifyingContract: asset.asset },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization },
  })
}

/** Whether the payer's own key signed. */
export function isSignedByKey(digest: Hash, { authorization, signature }: Signed): boolean {
  const parsed = parseSignature(signature)
  if (parsed === undefined) return false
  try {
    const signer = recoverAddress({ payload: digest, signature: fromHex(parsed) })
    return signer.toLowerCase() === authorization.from
  } catch {
    return false
  }
}

const INPUTS =
  'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce'

/** This form accepts signatures of contract wallets too (USDC 2.2). */
const withBytes = parseFunction(`function transferWithAuthorization(${INPUTS}, bytes signature)`)

/** The only one that OpenZeppelin's ERC3009 has. */
const withParts = parseFunction(
  `function transferWithAuthorization(${INPUTS}, uint8 v, bytes32 r, bytes32 s)`,
)

export type TransferForm = 'bytes' | '(v, r, s)'

export function transferCall(
  { authorization, signature }: Signed,
  form: TransferForm,
): `0x${string}` {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const common = [from, to, value, validAfter, validBefore, nonce] as const
  if (form === 'bytes') return encodeData(withBytes, [...common, signature])
  const [r, s] = [signature.slice(2, 66), signature.slice(66, 130)]
  const v = Number(`0x${signature.slice(130, 132)}`)
  return encodeData(withParts, [...common, v, `0x${r}`, `0x${s}`])
}
