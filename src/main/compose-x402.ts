import { randomUUID } from 'node:crypto'
import type { CreateMeteringDeps, Metering } from '#callers/metering/create-metering.ts'
import type { Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Caller } from '#domain/caller.ts'
import type { Clock } from '#lib/time.ts'
import { createX402 } from '#money/x402/create-x402.ts'
import { openSettlingRpc } from '#money/x402/settling/settling-rpc.ts'
import { topupRoutes } from '#money/x402/topup-routes.ts'
import type { Route } from '#route/route.ts'
import type { PipelineDeps } from '#serving/api/pipeline.ts'
import type { Engine } from '#store/engine.ts'
import type { SettlingGaugeDeps } from './gauges/settling-gauges.ts'
import { OFFERS } from './offered-amounts.ts'

export interface ComposeX402Deps {
  readonly gasPerDayGwei: bigint | undefined
  readonly payment: Payment
  readonly ecosystem: Ecosystem
  readonly accounts: Engine
  readonly clock: Clock
  readonly access: Pick<Metering, 'recoveries' | 'settlements' | 'meter'>
  /** The contract's 402 body. */
  quotaBody(caller: Caller): unknown
  report(error: unknown): void
}

export interface ComposedX402
  extends Required<Pick<PipelineDeps, 'paymentRequired' | 'rejectUsedPayment' | 'settle'>> {
  readonly routes: readonly Route[]
  readonly signedIn: NonNullable<CreateMeteringDeps['signedIn']>
  readonly gauged: SettlingGaugeDeps
}

export function composeX402(deps: ComposeX402Deps): ComposedX402 {
  const { payment, ecosystem, accounts, clock, access } = deps
  const { pricePerCall } = ecosystem
  const x402 = createX402({
    engine: accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(payment.chain),
    payment,
    pricePerCall,
    amounts: OFFERS,
    recoveries: access.recoveries,
    settlements: access.settlements,
    meter: access.meter,
    publicBaseUrl: ecosystem.service.publicBaseUrl,
    quotaBody: deps.quotaBody,
    report: deps.report,
  })
  const { calls, receiver } = x402
  return {
    paymentRequired: (caller, facts) => calls.offer(caller, facts),
    rejectUsedPayment: (facts) => receiver.rejectUsedPayment(facts),
    settle: (caller, facts) => calls.pay(caller, facts),
    signedIn: (facts) => calls.signedIn(facts),
    gauged: {
      ...x402.settling,
      outcomes: receiver.outcomes,
      gasPerDayGwei: deps.gasPerDayGwei,
    },
    routes: topupRoutes({
      ...x402.settling,
      receiver,
      visitor: (facts) => calls.visitor(facts),
    }),
  }
}
