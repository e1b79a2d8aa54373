import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { FailureGuard } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { FacilitatorReadiness } from './facilitators/readiness.ts'
import type { SettlingRpc } from './settling/settling-rpc.ts'

export interface CreditDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly rpc: SettlingRpc
  readonly payment: Payment
}

/** What a process that takes payments needs; the leader settles them. */
export interface X402Deps extends CreditDeps {
  readonly readiness: FacilitatorReadiness
  readonly pricePerCall: MicroUsd
  readonly amounts: readonly MicroUsd[]
  readonly publicBaseUrl: string
  /** Recovery takes milliseconds, and contract wallets are asked. */
  readonly recoveries: FailureGuard
  report(error: unknown): void
}
