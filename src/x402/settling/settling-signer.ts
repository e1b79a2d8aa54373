import assert from 'node:assert/strict'
import { fromPublicKey } from 'ox/Address'
import { getPublicKey, sign } from 'ox/Secp256k1'
import { from, getSignPayload, hash, serialize } from 'ox/TxEnvelopeEip1559'
import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'
import { type Authorization, transferCall } from '../offers/authorization.ts'

/** USDC takes up to 103,000. */
export const TRANSFER_GAS = 160_000n

/** 100 gwei; never sign more, whatever a node says. */
const FEE_PER_GAS_MAX = 100_000_000_000n

export interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

export interface TransferOrder {
  readonly authorization: Authorization
  readonly signature: Signature
  readonly txNonce: number
  readonly fees: Fees
}

export interface SignedTransaction {
  readonly raw: `0x${string}`
  readonly txHash: Hash
}

/**
 * Signs `transferWithAuthorization` on the configured asset to the configured wallets, nothing
 * else.
 */
export interface SettlingSigner {
  readonly address: Address
  signTransfer(order: TransferOrder): Promise<SignedTransaction>
}

export function keySigner(input: {
  readonly privateKey: `0x${string}`
  readonly chainId: number
  readonly asset: Address
  readonly recipients: readonly Address[]
}): SettlingSigner {
  const { privateKey, chainId, asset, recipients } = input
  const address = fromPublicKey(getPublicKey({ privateKey })).toLowerCase() as Address
  return {
    address,
    async signTransfer({ authorization, signature, txNonce, fees }) {
      assert(
        recipients.includes(authorization.to),
        'a settling key pays the configured payTo wallets only',
      )
      assert(fees.maxFeePerGas <= FEE_PER_GAS_MAX, 'the gas price exceeds the limit of 100 gwei')
      const envelope = from({
        chainId,
        nonce: BigInt(txNonce),
        to: asset,
        value: 0n,
        gas: TRANSFER_GAS,
        data: transferCall(authorization, signature),
        ...fees,
      })
      const signed = sign({ payload: getSignPayload(envelope), privateKey })
      const sealed = from(envelope, { signature: signed })
      return { raw: serialize(sealed), txHash: hash(sealed) as Hash }
    },
  }
}
