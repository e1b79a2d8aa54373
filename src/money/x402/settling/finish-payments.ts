import { DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { PaymentFault } from '../faults.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { creditPayment, endPayment } from './credit-payment.ts'
import {
  lostPayments,
  openPayments,
  paymentsToLookAt,
  setNextLook,
  setPaymentStatus,
  setReverted,
} from './payment-store.ts'
import { readSettlement } from './read-settlement.ts'
import {
  isOver,
  MARGIN_SECONDS,
  type ReconcileVerdict,
  reconcilePayment,
} from './reconcile-payment.ts'
import { type PaymentSender, REQUEST_SECONDS, type SendDeps } from './send-payments.ts'
import type { X402Payment } from './x402-payment.ts'

const PAYMENTS_PER_PASS_MAX = 100

/** They must not dominate a pass. */
const ENDED_PER_PASS_MAX = 20

const SUBMITTED_SECONDS = 2

type Deps = Omit<SendDeps, 'facilitator'> & {
  readonly facilitator: Pick<SendDeps['facilitator'], 'wallet'>
  readonly sender: Pick<PaymentSender, 'again' | 'keep' | 'isAwaited'>
}

/** Starts what requests have reserved. */
export async function sendReserved(
  deps: Pick<CreditDeps, 'engine'> & {
    readonly sender: Pick<PaymentSender, 'start' | 'isAwaited'>
  },
): Promise<void> {
  for (const payment of await openPayments({ run: deps.engine.read }, PAYMENTS_PER_PASS_MAX))
    if (payment.status === 'reserved' && deps.sender.isAwaited(payment)) deps.sender.start(payment)
}

/**
 * Lost answers, killed processes, reorgs, and authorizations that others send after we gave up.
 * Returns the number of payments credited.
 */
export async function finishPayments(deps: Deps): Promise<number> {
  const reads = { run: deps.engine.read }
  for (const payment of await lostPayments(reads, PAYMENTS_PER_PASS_MAX))
    await deps.engine.write((connection) =>
      setPaymentStatus(connection, { id: payment.id, from: 'credited', to: 'submitted' }),
    )
  const open = await openPayments(reads, PAYMENTS_PER_PASS_MAX)
  deps.sender.keep(open)
  const due = { nowUnix: unixNow(deps.clock), limit: ENDED_PER_PASS_MAX }
  const ended = await paymentsToLookAt(reads, due)
  let credited = 0
  for (const payment of [...open.filter((each) => isDue(deps, each)), ...ended]) {
    const isCredited = await finishOne(deps, payment).catch((error: unknown) => {
      deps.report(error)
      return false
    })
    if (isCredited) credited += 1
  }
  return credited
}

function ageOf(deps: Pick<Deps, 'clock'>, payment: X402Payment): number {
  return unixNow(deps.clock) - payment.createdUnix
}

function isDue(deps: Deps, payment: X402Payment): boolean {
  if (payment.status === 'reserved') return !deps.sender.isAwaited(payment)
  return ageOf(deps, payment) >= SUBMITTED_SECONDS
}

async function finishOne(deps: Deps, payment: X402Payment): Promise<boolean> {
  const { wallet } = deps.facilitator
  const verdict = await reconcilePayment({ ...deps, wallet }, payment)
  if (verdict.kind === 'paid') return await credit(deps, payment, verdict)
  const lookUnix = isOver(verdict) ? undefined : nextLook(payment, unixNow(deps.clock))
  const end = endOf(payment, verdict)
  if (end !== undefined) {
    const isOurLoss = end.to === 'failed' && (await costUsGas(deps, payment))
    await deps.engine.write(async (connection) => {
      const isEnded = await endPayment(connection, payment, { ...end, lookUnix })
      if (isEnded && isOurLoss)
        await setReverted(connection, { id: payment.id, nowUnix: unixNow(deps.clock) })
    })
  } else if (payment.status === 'submitted') {
    if (verdict.kind === 'open') deps.sender.again(payment)
  } else
    await deps.engine.write((connection) => setNextLook(connection, { id: payment.id, lookUnix }))
  return false
}

/** A payer may cancel or use its nonce while our transaction is under way. */
async function costUsGas(deps: Deps, payment: X402Payment): Promise<boolean> {
  const { wallet } = deps.facilitator
  if (wallet === undefined || payment.txHash === null) return false
  const settlement = await readSettlement(deps, payment, payment.txHash)
  return settlement.kind === 'unpaid' && settlement.sender === wallet
}

async function credit(
  deps: Deps,
  payment: X402Payment,
  paid: Extract<ReconcileVerdict, { kind: 'paid' }>,
): Promise<boolean> {
  // Its request credits it, with the call.
  const isWaited = payment.status === 'submitted' && !payment.isServed
  if (isWaited && ageOf(deps, payment) < REQUEST_SECONDS) return false
  const credited = await deps.engine.write((connection) =>
    creditPayment(connection, deps, { payment, paid, isServed: false }),
  )
  return credited !== undefined
}

interface End {
  readonly to: 'abandoned' | 'failed'
  readonly reason: PaymentFault
}

function endOf(payment: X402Payment, verdict: ReconcileVerdict): End | undefined {
  // Never submitted, so never sent by us.
  if (payment.status === 'reserved') return { to: 'abandoned', reason: 'settlement_unavailable' }
  if (payment.status !== 'submitted') return undefined
  const isShown = isOver(verdict) || verdict.kind === 'reverted'
  // A use that is not shown may still turn out to pay us: it is looked for after the end.
  const isEnded = isShown || (verdict.kind === 'used' && verdict.isPast)
  return isEnded ? { to: 'failed', reason: 'invalid_transaction_state' } : undefined
}

const LOOK_SECONDS_MIN = 5

/** Doubles the age, but checks soon after expiry. Undefined a day later. */
function nextLook(payment: X402Payment, nowUnix: number): number | undefined {
  const endUnix = Number(payment.authorization.validBefore) + MARGIN_SECONDS
  if (nowUnix >= endUnix + DAY_SECONDS) return undefined
  const wait = Math.max(LOOK_SECONDS_MIN, nowUnix - payment.createdUnix)
  const soonest = nowUnix + LOOK_SECONDS_MIN
  return Math.min(nowUnix + wait, Math.max(soonest, endUnix))
}
