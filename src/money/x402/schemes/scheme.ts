import type { SchemeNetworkFacilitator } from '@x402/core/types'
import type { FacilitatorEvmSigner } from '@x402/evm'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import type { PaymentFault } from '../faults.ts'
import type { SettlingRpc } from '../settling-rpc.ts'

/** What a payer signs, in any scheme. Addresses in lower case. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  /** Unix seconds. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** Unique per payer, for ever. */
  readonly nonce: Hash
}

export interface Signed {
  readonly authorization: Authorization
  /** 65 bytes from a key, any bytes from a contract wallet. */
  readonly signature: `0x${string}`
}

/** Kind of wallets, and why the asset refuses their payments; undefined if it takes them. */
export interface Way {
  readonly by: string
  readonly refusal: string | undefined
}

/** How a scheme shows on the chain that a payment was made. */
interface SchemeEvents {
  /** First topics of `(address indexed payer, bytes32 indexed nonce)` logs of the asset. */
  readonly used: Hash
  readonly cancelled: Hash
  /** Call of the asset that returns whether the nonce is used or cancelled. */
  stateCall(authorization: Authorization): Hash
}

/** A way to pay: one folder, one descriptor, listed in `schemes.ts`. */
export interface Scheme {
  readonly name: string
  /** What clients need to sign, the `extra` of an offer. */
  extra(payment: Pick<Payment, 'domain'>): Readonly<Record<string, string>>
  /** The scheme's part of a payment, as its clients write it. */
  read(payload: unknown): Signed | PaymentFault
  write(signed: Signed): Record<string, unknown>
  /** Undefined if the payer signed. Keys are recovered locally; contract wallets are asked. */
  checkSignature(
    deps: { readonly rpc: Pick<SettlingRpc, 'code' | 'call'>; readonly payment: Payment },
    signed: Signed,
  ): Promise<PaymentFault | undefined>
  /** Which wallets can pay with the asset, found by simulations. */
  proveWays(deps: {
    readonly rpc: Pick<SettlingRpc, 'call'>
    readonly payment: Payment
    readonly clock: Clock
  }): Promise<readonly Way[]>
  readonly events: SchemeEvents
  /** The library's facilitator of the scheme. */
  embed(signer: FacilitatorEvmSigner): SchemeNetworkFacilitator
}
