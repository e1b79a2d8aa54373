import { type ChargeDeps, canPay, type KeyedCaller } from './charge-events.ts'
import { nextEvents, type QueuedEvent } from './event-store.ts'
import type { PostOutcome } from './post-event.ts'
import { type SendDeps, send } from './send-event.ts'
import type { Settlement } from './settle-events.ts'
import type { Webhook } from './webhook.ts'

export interface DrainDeps extends SendDeps, ChargeDeps {
  /** False once another deliverer may have taken over. */
  isLeading(): boolean
  settle(settlement: Settlement): Promise<void>
}

/** Then others get the slot, and key and tier are looked up again. */
const EVENTS_MAX = 20
const TURN_MS = 1_000

/** Sends in order what waits, one after the other, until one is not delivered. */
export async function drainWebhook(
  deps: DrainDeps,
  { webhook, caller }: { readonly webhook: Webhook; readonly caller: KeyedCaller },
): Promise<void> {
  const reads = { run: deps.accounts.read }
  const events = await nextEvents(reads, { webhookId: webhook.id, limit: EVENTS_MAX })
  if (events.length === 0) return deps.settle({ kind: 'empty', webhook })
  const startedMs = performance.now()
  for (const event of events) {
    const settlement = await deliver(deps, { webhook, caller, event })
    if (settlement === undefined) return
    await deps.settle(settlement)
    if (settlement.kind !== 'delivered' || performance.now() - startedMs > TURN_MS) return
  }
}

async function deliver(
  deps: DrainDeps,
  input: {
    readonly webhook: Webhook
    readonly caller: KeyedCaller
    readonly event: QueuedEvent
  },
): Promise<Settlement | undefined> {
  const { webhook, caller, event } = input
  if (!event.isFree) {
    const refused = mayNotReceive(caller)
    if (refused !== undefined) return { kind: 'unpaid', webhook, answer: refused }
    const paying = await deps.accounts.snapshot((reads) => canPay(reads, deps, caller))
    if (!paying) return { kind: 'unpaid', webhook, answer: 'payment_required' }
  }
  if (event.state === 'owed') return { kind: 'delivered', ...input, answer: 'paid' }
  if (!deps.isLeading() || deps.signal.aborted) return undefined
  const { id, payload } = event
  const outcome = await send(deps, { url: webhook.url, id, payload, readsBody: false })
  if (deps.signal.aborted && outcome.kind === 'failed') return undefined
  return toSettlement(outcome, input)
}

/** Events are those of the stream. */
function mayNotReceive({ limits }: KeyedCaller): string | undefined {
  const { endpoints } = limits ?? {}
  return endpoints?.includes('/api/stream') === false ? 'key_not_allowed' : undefined
}

function toSettlement(
  outcome: PostOutcome,
  input: {
    readonly webhook: Webhook
    readonly caller: KeyedCaller
    readonly event: QueuedEvent
  },
): Settlement {
  const { webhook } = input
  if (outcome.kind === 'failed')
    return { kind: 'failed', webhook, answer: outcome.reason, retryAfterSeconds: undefined }
  const { status, retryAfterSeconds } = outcome
  if (status >= 200 && status < 300) return { kind: 'delivered', ...input, answer: String(status) }
  if (status === 410) return { kind: 'gone', webhook }
  return { kind: 'failed', webhook, answer: String(status), retryAfterSeconds }
}
