import { randomBytes } from 'node:crypto'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { backoffMs } from './backoff.ts'
import { type ChargeDeps, chargeEvents, type KeyedCaller } from './charge-events.ts'
import {
  buryEvents,
  hasQueued,
  lockQueued,
  markOwed,
  type QueuedEvent,
  removeEvents,
} from './event-store.ts'
import { FAILING_MAX_SECONDS, type Webhook } from './webhook.ts'
import { changeWebhook, lockWebhooks } from './webhook-store.ts'

export type Settlement =
  /** A 2xx, or an owed event that is paid for now. */
  | {
      readonly kind: 'delivered'
      readonly webhook: Webhook
      readonly event: QueuedEvent
      readonly caller: KeyedCaller
      readonly answer: string
    }
  | {
      readonly kind: 'failed'
      readonly webhook: Webhook
      readonly answer: string
      readonly retryAfterSeconds: number | undefined
    }
  /** 410: the receiver wants no more. */
  | { readonly kind: 'gone'; readonly webhook: Webhook }
  /** Quota and balance are empty, a limit of the key is reached, or it has expired. */
  | { readonly kind: 'unpaid'; readonly webhook: Webhook; readonly answer: string }
  | { readonly kind: 'empty'; readonly webhook: Webhook }

export interface SettleDeps extends ChargeDeps {
  /** Of the batch of charges. */
  nextBatch(): { readonly meter: string; readonly number: number }
  random(): number
}

/** How soon money or quota is looked for again. */
const UNPAID_RETRY_MS = 60_000

/** In one transaction: who is charged, what leaves the queue, and when each is tried again. */
export async function settleEvents(
  connection: Connection,
  deps: SettleDeps,
  settlements: readonly Settlement[],
): Promise<void> {
  const webhooks = await lockWebhooks(
    connection,
    settlements.map(({ webhook }) => webhook.id),
  )
  const unpaid = await charge(connection, deps, settlements)
  for (const each of settlements) {
    const webhook = webhooks.get(each.webhook.id)
    if (webhook === undefined || webhook.state !== each.webhook.state) continue
    const isUnpaid = each.kind === 'delivered' && unpaid.has(each.event.id)
    await settleOne(connection, deps, {
      webhook,
      settlement: isUnpaid ? { kind: 'unpaid', webhook, answer: 'payment_required' } : each,
    })
  }
}

/** Pays for what was delivered; returns what could not be paid. */
async function charge(
  connection: Connection,
  deps: SettleDeps,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<string>> {
  const delivered = settlements.filter((each) => each.kind === 'delivered')
  if (delivered.length === 0) return new Set()
  const queued = await lockQueued(
    connection,
    delivered.map(({ event }) => event.id),
  )
  const payable = delivered.filter(({ event }) => queued.has(event.id) && !event.isFree)
  const callers = payable.map(({ caller }) => caller)
  const paid = await chargeEvents(connection, deps, { callers, id: deps.nextBatch() })
  const unpaid = new Set(payable.filter((_, index) => !paid[index]).map(({ event }) => event.id))
  const done = delivered.filter(({ event }) => !unpaid.has(event.id)).map(({ event }) => event.id)
  await removeEvents(connection, done)
  if (unpaid.size > 0) await markOwed(connection, [...unpaid])
  return unpaid
}

interface Settling {
  readonly webhook: Webhook
  readonly settlement: Settlement
}

async function settleOne(
  connection: Connection,
  deps: SettleDeps,
  { webhook, settlement }: Settling,
): Promise<void> {
  const nowMs = deps.clock()
  const nowUnix = unixNow(deps.clock)
  if (settlement.kind === 'empty') {
    const isDue = webhook.state === 'active' && (await hasQueued(connection, webhook.id))
    return changeWebhook(connection, webhook, { dueMs: isDue ? nowMs : null })
  }
  const { id: webhookId } = webhook
  const answer = settlement.kind === 'gone' ? '410' : settlement.answer
  const seen = { answer, answerUnix: nowUnix }
  if (settlement.kind === 'delivered') {
    const dueMs = (await hasQueued(connection, webhookId)) ? nowMs : null
    const delivered = webhook.delivered + 1
    const well = { attempts: 0, failingUnix: null }
    return changeWebhook(connection, webhook, { ...seen, ...well, delivered, dueMs })
  }
  if (settlement.kind === 'gone') return disable(connection, webhook, { ...seen, reason: 'gone' })
  if (settlement.kind === 'unpaid') {
    await buryEvents(connection, { webhookId, nowUnix, reason: answer, which: 'old' })
    return changeWebhook(connection, webhook, { ...seen, dueMs: nowMs + UNPAID_RETRY_MS })
  }
  const failingUnix = webhook.failingUnix ?? nowUnix
  if (nowUnix - failingUnix >= FAILING_MAX_SECONDS)
    return disable(connection, webhook, { ...seen, reason: 'failing' })
  await buryEvents(connection, { webhookId, nowUnix, reason: answer, which: 'old' })
  const attempts = webhook.attempts + 1
  const { retryAfterSeconds } = settlement
  const dueMs = nowMs + backoffMs({ attempts, retryAfterSeconds, random: deps.random() })
  await changeWebhook(connection, webhook, { ...seen, attempts, failingUnix, dueMs })
}

/** Until its URL answers a new challenge. What waits can be resent then. */
async function disable(
  connection: Connection,
  webhook: Webhook,
  seen: { readonly answer: string; readonly answerUnix: number; readonly reason: string },
): Promise<void> {
  const { id: webhookId } = webhook
  const { answerUnix: nowUnix, answer: reason } = seen
  await buryEvents(connection, { webhookId, nowUnix, reason, which: 'all' })
  const ended = { state: 'disabled', dueMs: null, attempts: 0, failingUnix: null } as const
  await changeWebhook(connection, webhook, { ...seen, ...ended })
}

/** A new one for each challenge. */
export function newChallenge(): string {
  return randomBytes(24).toString('base64url')
}
