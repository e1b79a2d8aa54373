import { randomUUID } from 'node:crypto'
import type { Access, CreateAccessDeps } from '#access/create-access.ts'
import { lockSuccessor, publicIdsOf } from '#access/keys/key-store.ts'
import type { Admission } from '#access/meter/admission.ts'
import { admitCredited } from '#access/meter/admit-credited.ts'
import type { PipelineDeps } from '#api/pipeline.ts'
import type { Caller } from '#domain/caller.ts'
import type { Ecosystem, Payment } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { Route } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { createX402 } from '#x402/create-x402.ts'
import { openSettlingRpc } from '#x402/settling/settling-rpc.ts'
import { topupRoutes } from '#x402/topup-routes.ts'
import type { SettlingGaugeDeps } from './gauges/settling-gauges.ts'
import { openSigner } from './open-settling.ts'
import type { SettlingSetting } from './settings.ts'

/** Within the default spending limit of stock clients. */
const OFFERS = [100_000n, 1_000_000n] as const

export interface ComposeX402Deps {
  readonly settling: SettlingSetting
  readonly payment: Payment
  readonly ecosystem: Ecosystem
  readonly accounts: Engine
  readonly clock: Clock
  readonly access: Pick<Access, 'recoveries' | 'settlements' | 'findKey' | 'meter' | 'receipts'>
  /** The contract's 402 body. */
  quotaBody(caller: Caller): unknown
  report(error: unknown): void
}

export interface ComposedX402
  extends Required<Pick<PipelineDeps, 'paymentRequired' | 'screen' | 'settle'>> {
  readonly routes: readonly Route[]
  readonly signedIn: NonNullable<CreateAccessDeps['signedIn']>
  readonly gauged: SettlingGaugeDeps
}

export async function composeX402(deps: ComposeX402Deps): Promise<ComposedX402> {
  const { settling, payment, ecosystem, accounts, clock, access } = deps
  const { pricePerCall } = ecosystem
  // A signed-in wallet has no free calls; show its address's.
  const atAddress = <A extends Admission>(admission: A): A => {
    const { figures } = admission
    if (figures.tier !== 'anonymous') return admission
    return { ...admission, figures: { ...figures, dailyQuota: ecosystem.quotas.anonymous } }
  }
  const x402 = createX402<Admission>({
    engine: accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(payment.chain),
    signer: await openSigner(settling, payment),
    payment,
    pricePerCall,
    amounts: OFFERS,
    gasPerDayGwei: BigInt(settling.gasPerDayGwei),
    etherUsd: settling.etherUsd,
    keys: { lockSuccessor, keysOf: publicIdsOf },
    recoveries: access.recoveries,
    settlements: access.settlements,
    async admitCredited(connection, input, credit) {
      const admission = await admitCredited(connection, { clock, pricePerCall }, input, credit)
      return admission && atAddress(admission)
    },
    async refundIfAdmitted(admission, name) {
      if (admission.kind === 'admitted')
        await access.meter.refundIfAdmitted(name, admission.receipt)
    },
    async admitSignedIn(caller) {
      const admission = await access.meter.admit(caller)
      return admission.kind === 'admitted' ? atAddress(admission) : undefined
    },
    publicBaseUrl: ecosystem.service.publicBaseUrl,
    quotaBody: deps.quotaBody,
    onPaid: (payment) => access.receipts?.add({ kind: 'paid', ...payment }),
    report: deps.report,
  })
  const { calls, receiver } = x402
  return {
    paymentRequired: (caller, facts) => calls.offer(caller, facts),
    screen: (facts) => receiver.screen(facts),
    settle: (caller, facts) => calls.pay(caller, facts),
    signedIn: (facts) => calls.signedIn(facts),
    gauged: { ...x402.settling, outcomes: receiver.outcomes },
    routes: topupRoutes({
      ...x402.settling,
      receiver,
      visitor: (facts) => calls.visitor(facts),
      findKey: access.findKey,
    }),
  }
}
