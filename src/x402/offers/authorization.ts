import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import { recoverAddress } from 'ox/Secp256k1'
import { fromHex } from 'ox/Signature'
import { getSignPayload } from 'ox/TypedData'
import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'

/** A payer's signed leave to move tokens once (EIP-3009); all addresses in lower case. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  /** Base units of the asset. */
  readonly value: bigint
  /** Unix seconds; the transfer counts strictly between the two. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hash
}

/** The token that an authorization is for, and the EIP-712 domain in which it is signed. */
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

/** Whether `from` signed it (EIP-712), computed here without a node. */
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

/** The form with bytes takes signatures of wallets that are contracts too (USDC 2.2). */
const transferWithAuthorization = parseFunction(
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
)

/** The call that moves the money; anyone may send it. */
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
