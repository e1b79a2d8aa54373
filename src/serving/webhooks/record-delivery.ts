import { writeOrRefuse } from '#accounts/keys/key-store.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { chargeEvent, type EventChargeDeps, type KeyedCaller } from './charge-event.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook, lockWebhook, markUnfunded } from './webhook-store.ts'

/** An event that got a 2xx. */
export interface Delivered {
  /** The webhook as it was read before. */
  readonly webhook: Webhook
  /** Null for a free event. */
  readonly caller: KeyedCaller | null
  readonly changes: Partial<Webhook>
}

/** How soon money or quota is looked for again. */
export const UNPAID_RETRY_MS = 60_000

/**
 * Charges a call and moves the webhook from the cursor that was read, in one transaction. If it has
 * moved since, or the call cannot be paid, nothing changes. Returns the webhook after a move.
 */
export async function recordDelivery(
  { accounts, ...deps }: EventChargeDeps & { readonly accounts: Engine },
  delivered: Delivered,
): Promise<Webhook | undefined> {
  const moved = await writeOrRefuse(accounts, (connection) => move(connection, deps, delivered))
  if (!isRefusal(moved)) return moved
  const { wallet } = delivered.webhook
  const unfunded = { wallet, dueMs: deps.clock() + UNPAID_RETRY_MS, nowUnix: unixNow(deps.clock) }
  await accounts.write((connection) => markUnfunded(connection, unfunded))
  return undefined
}

async function move(
  connection: Connection,
  deps: EventChargeDeps,
  { webhook, caller, changes }: Delivered,
): Promise<Webhook | Refusal | undefined> {
  const nowUnix = unixNow(deps.clock)
  const own = await lockWebhook(connection, webhook.id)
  if (own?.cursor !== webhook.cursor || own.state !== webhook.state) return undefined
  const delivered = own.delivered + 1
  if (caller !== null && !(await chargeEvent(connection, deps, caller)))
    return refuse('quota_exceeded', 'the event cannot be paid')
  const day = startOfDay(nowUnix)
  const calls = own.capDay === day ? own.capCalls : 0
  const moved: Partial<Webhook> = {
    ...{ state: 'active', attempts: 0, failingUnix: null, dueMs: deps.clock() },
    ...{ capDay: day, capCalls: calls + Number(caller !== null), delivered, answerUnix: nowUnix },
    ...changes,
  }
  await changeWebhook(connection, own, moved)
  return { ...own, ...moved }
}
