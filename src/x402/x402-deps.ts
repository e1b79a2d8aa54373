import type { MicroUsd } from '#domain/money.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { KeyBook } from '#payments/payments-deps.ts'
import type { Engine } from '#store/engine.ts'
import type { FailureGuard } from './recovery-guard.ts'
import type { SettlingRpc } from './settling/settling-rpc.ts'
import type { SettlingSigner } from './settling/settling-signer.ts'

/** What finishing a payment needs; it holds no key. */
export interface CreditDeps {
  /** The accounts store, migrated with `x402Migrations`. */
  readonly engine: Engine
  readonly clock: Clock
  /** A random UUID. */
  readonly newId: () => string
  readonly rpc: SettlingRpc
  readonly payment: Payment
  readonly keys: KeyBook
}

/** What settling a payment needs. */
export interface X402Deps extends CreditDeps {
  readonly signer: SettlingSigner
  readonly pricePerCall: MicroUsd
  /** Smallest first. */
  readonly amounts: readonly MicroUsd[]
  /** The most gas of a UTC day, in gwei. */
  readonly gasPerDayGwei: bigint
  /** What an ether is taken to cost, in whole US dollars. */
  readonly etherUsd: number
  /** Without a trailing slash. */
  readonly publicBaseUrl: string
  /** Limits wrong signatures, because recovering a signer takes milliseconds. */
  readonly recoveries: FailureGuard
  report(error: unknown): void
}
