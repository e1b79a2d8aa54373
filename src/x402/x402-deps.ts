import type { MicroUsd } from '#domain/money.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { KeyBook } from '#payments/payments-deps.ts'
import type { Engine } from '#store/engine.ts'
import type { FailureGuard } from './recovery-guard.ts'
import type { SettlingRpc } from './settling/settling-rpc.ts'
import type { SettlingSigner } from './settling/settling-signer.ts'

export interface CreditDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly rpc: SettlingRpc
  readonly payment: Payment
  readonly keys: KeyBook
}

export interface X402Deps extends CreditDeps {
  readonly signer: SettlingSigner
  readonly pricePerCall: MicroUsd
  readonly amounts: readonly MicroUsd[]
  readonly gasPerDayGwei: bigint
  readonly etherUsd: number
  readonly publicBaseUrl: string
  /** Recovery takes milliseconds. */
  readonly recoveries: FailureGuard
  report(error: unknown): void
}
