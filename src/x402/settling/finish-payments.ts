import { DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { creditIntent, endIntent } from './credit-intent.ts'
import type { Intent } from './intent.ts'
import {
  intentsToLookAt,
  lostIntents,
  openIntents,
  setIntentStatus,
  setNextLook,
} from './intent-store.ts'
import { isOver, MARGIN_SECONDS, reconcileIntent, type Verdict } from './reconcile-intent.ts'
import { sweepNonces } from './sweep-nonces.ts'

const INTENTS_PER_PASS_MAX = 100

/** They must not dominate a pass. */
const ENDED_PER_PASS_MAX = 20

/** The request has ended by then. */
const RESERVED_SECONDS = 60

const SUBMITTED_SECONDS = 2

type Deps = CreditDeps & { report(error: unknown): void }

/**
 * Missed receipts, killed processes, reorgs, and authorizations that others send after we gave up.
 * Safe to run concurrently. Returns the number of payments credited.
 */
export async function finishPayments(deps: Deps): Promise<number> {
  const reads = { run: deps.engine.read }
  for (const intent of await lostIntents(reads, INTENTS_PER_PASS_MAX))
    await deps.engine.write((connection) =>
      setIntentStatus(connection, { id: intent.id, from: 'credited', to: 'submitted' }),
    )
  const open = await openIntents(reads, INTENTS_PER_PASS_MAX)
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
  await sweepNonces(deps).catch(deps.report)
  return credited
}

function isDue(deps: Deps, intent: Intent): boolean {
  const age = unixNow(deps.clock) - intent.createdUnix
  return age >= (intent.status === 'reserved' ? RESERVED_SECONDS : SUBMITTED_SECONDS)
}

async function finishOne(deps: Deps, intent: Intent): Promise<boolean> {
  const verdict = await reconcileIntent(deps, intent)
  if (verdict.kind === 'paid') {
    const credited = await deps.engine.write((connection) =>
      creditIntent(connection, deps, { intent, paid: verdict }),
    )
    return credited !== undefined
  }
  const lookUnix = isOver(verdict) ? undefined : nextLook(intent, unixNow(deps.clock))
  const to = endOf(intent, verdict)
  if (to !== undefined)
    await deps.engine.write((connection) => endIntent(connection, intent, { to, lookUnix }))
  else if (intent.status !== 'submitted')
    await deps.engine.write((connection) => setNextLook(connection, { id: intent.id, lookUnix }))
  return false
}

function endOf(intent: Intent, verdict: Verdict): 'abandoned' | 'failed' | undefined {
  // Never signed, so never sent by us.
  if (intent.status === 'reserved') return 'abandoned'
  if (intent.status !== 'submitted') return undefined
  return isOver(verdict) || verdict.kind === 'reverted' ? 'failed' : undefined
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
