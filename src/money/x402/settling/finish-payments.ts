import { DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { PaymentFault } from '../faults.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { creditIntent, endIntent } from './credit-intent.ts'
import type { Intent } from './intent.ts'
import {
  intentsToLookAt,
  lostIntents,
  openIntents,
  setIntentStatus,
  setNextLook,
  setReverted,
} from './intent-store.ts'
import { readSettlement } from './read-settlement.ts'
import { isOver, MARGIN_SECONDS, reconcileIntent, type Verdict } from './reconcile-intent.ts'
import { type PaymentSender, REQUEST_SECONDS, type SendDeps } from './send-payments.ts'

const INTENTS_PER_PASS_MAX = 100

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
  for (const intent of await openIntents({ run: deps.engine.read }, INTENTS_PER_PASS_MAX))
    if (intent.status === 'reserved' && deps.sender.isAwaited(intent)) deps.sender.start(intent)
}

/**
 * Lost answers, killed processes, reorgs, and authorizations that others send after we gave up.
 * Returns the number of payments credited.
 */
export async function finishPayments(deps: Deps): Promise<number> {
  const reads = { run: deps.engine.read }
  for (const intent of await lostIntents(reads, INTENTS_PER_PASS_MAX))
    await deps.engine.write((connection) =>
      setIntentStatus(connection, { id: intent.id, from: 'credited', to: 'submitted' }),
    )
  const open = await openIntents(reads, INTENTS_PER_PASS_MAX)
  deps.sender.keep(open)
  const due = { nowUnix: unixNow(deps.clock), limit: ENDED_PER_PASS_MAX }
  const ended = await intentsToLookAt(reads, due)
  let credited = 0
  for (const intent of [...open.filter((each) => isDue(deps, each)), ...ended]) {
    const isCredited = await finishOne(deps, intent).catch((error: unknown) => {
      deps.report(error)
      return false
    })
    if (isCredited) credited += 1
  }
  return credited
}

function ageOf(deps: Pick<Deps, 'clock'>, intent: Intent): number {
  return unixNow(deps.clock) - intent.createdUnix
}

function isDue(deps: Deps, intent: Intent): boolean {
  if (intent.status === 'reserved') return !deps.sender.isAwaited(intent)
  return ageOf(deps, intent) >= SUBMITTED_SECONDS
}

async function finishOne(deps: Deps, intent: Intent): Promise<boolean> {
  const { wallet } = deps.facilitator
  const verdict = await reconcileIntent({ ...deps, wallet }, intent)
  if (verdict.kind === 'paid') return await credit(deps, intent, verdict)
  const lookUnix = isOver(verdict) ? undefined : nextLook(intent, unixNow(deps.clock))
  const end = endOf(intent, verdict)
  if (end !== undefined) {
    const isOurLoss = end.to === 'failed' && (await costUsGas(deps, intent))
    await deps.engine.write(async (connection) => {
      const isEnded = await endIntent(connection, intent, { ...end, lookUnix })
      if (isEnded && isOurLoss)
        await setReverted(connection, { id: intent.id, nowUnix: unixNow(deps.clock) })
    })
  } else if (intent.status === 'submitted') {
    if (verdict.kind === 'open') deps.sender.again(intent)
  } else
    await deps.engine.write((connection) => setNextLook(connection, { id: intent.id, lookUnix }))
  return false
}

/** A payer may cancel or use its nonce while our transaction is under way. */
async function costUsGas(deps: Deps, intent: Intent): Promise<boolean> {
  const { wallet } = deps.facilitator
  if (wallet === undefined || intent.txHash === null) return false
  const settlement = await readSettlement(deps, intent, intent.txHash)
  return settlement.kind === 'unpaid' && settlement.sender === wallet
}

async function credit(
  deps: Deps,
  intent: Intent,
  paid: Extract<Verdict, { kind: 'paid' }>,
): Promise<boolean> {
  // Its request credits it, with the call.
  const isWaited = intent.status === 'submitted' && !intent.isServed
  if (isWaited && ageOf(deps, intent) < REQUEST_SECONDS) return false
  const credited = await deps.engine.write((connection) =>
    creditIntent(connection, deps, { intent, paid, isServed: false }),
  )
  return credited !== undefined
}

interface End {
  readonly to: 'abandoned' | 'failed'
  readonly reason: PaymentFault
}

function endOf(intent: Intent, verdict: Verdict): End | undefined {
  // Never submitted, so never sent by us.
  if (intent.status === 'reserved') return { to: 'abandoned', reason: 'settlement_unavailable' }
  if (intent.status !== 'submitted') return undefined
  const isShown = isOver(verdict) || verdict.kind === 'reverted'
  // A use that is not shown may still turn out to pay us: it is looked for after the end.
  const isEnded = isShown || (verdict.kind === 'used' && verdict.isPast)
  return isEnded ? { to: 'failed', reason: 'invalid_transaction_state' } : undefined
}

const LOOK_SECONDS_MIN = 5

/** Doubles the age, but checks soon after expiry. Undefined a day later. */
function nextLook(intent: Intent, nowUnix: number): number | undefined {
  const endUnix = Number(intent.authorization.validBefore) + MARGIN_SECONDS
  if (nowUnix >= endUnix + DAY_SECONDS) return undefined
  const wait = Math.max(LOOK_SECONDS_MIN, nowUnix - intent.createdUnix)
  const soonest = nowUnix + LOOK_SECONDS_MIN
  return Math.min(nowUnix + wait, Math.max(soonest, endUnix))
}
