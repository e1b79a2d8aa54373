import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import { recoverAddress } from 'ox/Secp256k1'
import { fromHex } from 'ox/Signature'
import { getSignPayload } from 'ox/TypedData'
import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'

/** EIP-3009. Addresses in lower case. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  /** Unix seconds, both exclusive. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hash
}

export interface SignedAsset {
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

export function isSignedByPayer(
  asset: SignedAsset,
  authorization: Authorization,
  signature: Signature,
): boolean {
  try {
    const payload = getSignPayload({
      domain: { ...asset.domain, chainId: asset.chainId, verifyingContract: asset.asset },
      types: TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { ...authorization },
    })
    const signer = recoverAddress({ payload, signature: fromHex(signature) })
    return signer.toLowerCase() === authorization.from
  } catch {
    return false
  }
}

/** `bytes` also accepts signatures of contract wallets (USDC 2.2). */
const transferWithAuthorization = parseFunction(
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
)

export function transferCall(authorization: Authorization, signature: Signature): `0x${string}` {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return encodeData(transferWithAuthorization, [
    from,
    to,
    value,
    validAfter,
    validBefore,
    nonce,
    signature,
  ])
}
