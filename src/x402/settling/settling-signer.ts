import assert from 'node:assert/strict'
import { fromPublicKey } from 'ox/Address'
import { getPublicKey, sign } from 'ox/Secp256k1'
import { from, getSignPayload, hash, serialize } from 'ox/TxEnvelopeEip1559'
import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'
import { type Authorization, transferCall } from '../offers/authorization.ts'

/** What a transfer may use: it takes 86,000 to 103,000 on the real coin, measured. */
export const TRANSFER_GAS = 160_000n

/** Dearer gas than this is never signed, whatever a node says: 100 gwei in wei. */
const FEE_PER_GAS_MAX = 100_000_000_000n

export interface Fees {
  /** Wei. */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** One settlement: the only thing that a settling key is ever asked for. */
export interface TransferOrder {
  readonly authorization: Authorization
  readonly signature: Signature
  /** Of the settling wallet. */
  readonly txNonce: number
  readonly fees: Fees
}

export interface SignedTransaction {
  readonly raw: `0x${string}`
  readonly txHash: Hash
}

/**
 * Holds the settling key, here or in a process of its own. It signs calls of
 * `transferWithAuthorization` on the configured asset to the configured wallets, and nothing else.
 */
export interface SettlingSigner {
  readonly address: Address
  signTransfer(order: TransferOrder): Promise<SignedTransaction>
}

/** A signer whose key is in this process. */
export function keySigner(input: {
  readonly privateKey: `0x${string}`
  readonly chainId: number
  readonly asset: Address
  /** The wallets of the operator that may be paid. */
  readonly recipients: readonly Address[]
}): SettlingSigner {
  const { privateKey, chainId, asset, recipients } = input
  const address = fromPublicKey(getPublicKey({ privateKey })).toLowerCase() as Address
  return {
    address,
    async signTransfer({ authorization, signature, txNonce, fees }) {
      assert(recipients.includes(authorization.to), 'a settling key pays the operator only')
      assert(fees.maxFeePerGas <= FEE_PER_GAS_MAX, 'gas is too dear to settle')
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
