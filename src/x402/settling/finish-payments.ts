import { unixNow } from '#lib/clock.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { creditIntent, endIntent } from './credit-intent.ts'
import type { Intent } from './intent.ts'
import { lostIntents, openIntents, setIntentStatus } from './intent-store.ts'
import { reconcileIntent, type Verdict } from './reconcile-intent.ts'
import { sendStored } from './submit-intent.ts'

/** Intents looked at per pass; a job that is called every second needs no long run. */
const INTENTS_PER_PASS_MAX = 100

/** A request has its outcome, or was killed, well before. */
const RESERVED_SECONDS = 60

/** The request that sent it waits for this long by itself. */
const SUBMITTED_SECONDS = 2

type Deps = CreditDeps & { report(error: unknown): void }

/**
 * Finishes what requests have left open: payments whose receipt did not come in time, those of a
 * process that was killed, and those that a reorg took back. Several may run at once; each intent
 * moves once. Gives the number of payments credited.
 */
export async function finishPayments(deps: Deps): Promise<number> {
  const reads = { run: deps.engine.read }
  for (const intent of await lostIntents(reads, INTENTS_PER_PASS_MAX))
    await deps.engine.write((connection) =>
      setIntentStatus(connection, { id: intent.id, from: 'credited', to: 'submitted' }),
    )
  let credited = 0
  for (const intent of await openIntents(reads, INTENTS_PER_PASS_MAX)) {
    if (!isDue(deps, intent)) continue
    // One that fails must not keep the others waiting.
    const isCredited = await finishOne(deps, intent).catch((error: unknown) => {
      deps.report(error)
      return false
    })
    if (isCredited) credited += 1
  }
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
  const end = endOf(intent, verdict)
  if (end !== undefined) await deps.engine.write((connection) => endIntent(connection, intent, end))
  else await sendStored(deps, intent)
  return false
}

function endOf(intent: Intent, verdict: Exclude<Verdict, { kind: 'paid' }>) {
  // What was never stored as signed was never sent and never will be.
  if (intent.status === 'reserved') return { to: 'abandoned', paidWei: 0n } as const
  if (verdict.kind === 'open') return undefined
  return { to: 'failed', paidWei: 'paidWei' in verdict ? verdict.paidWei : 0n } as const
}
