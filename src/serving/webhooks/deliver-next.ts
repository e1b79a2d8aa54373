import { canPay } from '#accounts/metering/meter/meter.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { showCursor } from '#chains/indexer/feed/cursor.ts'
import { readEnd } from '#chains/indexer/feed/read-feed.ts'
import { nextMidnight, startOfDay, unixNow } from '#lib/time.ts'
import { WHOLE } from '#serving/stream/feed-rows.ts'
import type { Engine } from '#store/engine.ts'
import type { EventChargeDeps, KeyedCaller } from './charge-event.ts'
import { recordDelivery, UNPAID_RETRY_MS } from './record-delivery.ts'
import { type FeedPosition, type FeedScan, storedPosition } from './scan.ts'
import { type EventSendDeps, sendEvent, type WebhookEvent } from './send-event.ts'
import { FAILING_MAX_SECONDS, type Webhook } from './webhook.ts'
import { changeWebhook } from './webhook-store.ts'

export interface DeliverDeps extends EventSendDeps, EventChargeDeps {
  readonly register: Engine
  readonly accounts: Engine
  readonly ecosystem: Ecosystem
  random(): number
}

interface DeliverInput {
  readonly webhook: Webhook
  readonly caller: KeyedCaller
  readonly scan: FeedScan
}

interface Next {
  readonly event: WebhookEvent
  readonly isFree: boolean
  readonly changes: Partial<Webhook>
  /** Position where the scan goes on; without it the webhook is read again. */
  readonly after?: FeedPosition
}

/** Returns the webhook as it is after a delivery; undefined once there is nothing to go on with. */
export async function deliverNext(
  deps: DeliverDeps,
  input: DeliverInput,
): Promise<Webhook | undefined> {
  const { webhook, caller, scan } = input
  const { accounts, clock } = deps
  const leave = async (answer: string, changes: Partial<Webhook>): Promise<undefined> => {
    const seen = { answer, answerUnix: unixNow(clock), ...changes }
    await accounts.write((connection) => changeWebhook(connection, webhook, seen))
  }
  const next = await nextEvent(deps, input)
  if (next === undefined) return undefined
  if (!next.isFree) {
    const nowUnix = unixNow(clock)
    const { dailyCap, capDay, capCalls } = webhook
    if (capDay === startOfDay(nowUnix) && capCalls >= (dailyCap ?? Number.POSITIVE_INFINITY))
      return leave('daily_cap_reached', { failingUnix: null, dueMs: nextMidnight(nowUnix) * 1_000 })
    const refused = await whyUnpaid(deps, caller)
    const dueMs = clock() + UNPAID_RETRY_MS
    if (refused !== undefined)
      return leave(refused, { state: 'unfunded', failingUnix: null, dueMs })
  }
  if (deps.signal.aborted) return undefined
  const outcome = await sendEvent(deps, webhook, next.event)
  if (deps.signal.aborted && outcome.kind === 'failed') return undefined
  const isAnswered = outcome.kind === 'answered'
  const answer = isAnswered ? String(outcome.status) : outcome.reason
  if (isAnswered && outcome.status >= 200 && outcome.status < 300) {
    const changes = { answer, ...next.changes }
    const delivered = { webhook, caller: next.isFree ? null : caller, changes }
    const recorded = await recordDelivery(deps, delivered)
    if (next.after === undefined) return undefined
    scan.pass(next.after)
    return recorded
  }
  const retryAfterMs = isAnswered ? outcome.retryAfterMs : undefined
  const failed = { answer, retryAfterMs, nowMs: clock(), random: deps.random() }
  const passed = scan.at && storedPosition(scan.at)
  return leave(answer, { ...passed, ...failure(webhook, failed) })
}

async function nextEvent(
  { register }: DeliverDeps,
  { webhook, scan }: DeliverInput,
): Promise<Next | undefined> {
  const found = await scan.find()
  if (found.kind === 'end' || found.kind === 'behind') return undefined
  if (found.kind === 'lost') {
    const end = await register.snapshot(readEnd)
    if (end === undefined) return undefined
    const { id, cursor, finalUnix } = webhook
    const data = JSON.stringify({ ...WHOLE, sinceUnix: finalUnix })
    const event = { id: `${id}-reset-${idOf(cursor)}`, type: 'feed.reset', data }
    return { event, isFree: true, changes: { cursor: showCursor(end) } }
  }
  const { change, kind, json, cursor } = found.item
  const isReset = change.op === 'reset'
  const { timestamp } = change.event
  const event = {
    id: `${webhook.id}-${idOf(showCursor(cursor))}`,
    type: isReset ? 'feed.reset' : `${kind}.${change.op}`,
    data: json?.() ?? '{}',
    ...(timestamp > 0 && { unix: timestamp }),
  }
  return { event, isFree: isReset, changes: storedPosition(found.after), after: found.after }
}

/** Standard Webhooks signs `id.timestamp.payload`, so an id has no dots. */
function idOf(cursor: string): string {
  return cursor.replaceAll('.', '-')
}

async function whyUnpaid(deps: DeliverDeps, caller: KeyedCaller): Promise<string | undefined> {
  const isPaid = await deps.accounts.snapshot((reads) =>
    canPay({ ...deps, ecosystem: deps }, reads, caller),
  )
  return isPaid ? undefined : 'payment_required'
}

/** Back-off; hourly after the last. */
const DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000]

/** Keeps webhooks that failed together from coming back together. */
const JITTER = 0.2

/** Plans the retry, never earlier than the receiver asked. */
function failure(
  webhook: Webhook,
  input: {
    readonly answer: string
    readonly retryAfterMs: number | undefined
    readonly nowMs: number
    readonly random: number
  },
): Partial<Webhook> {
  const { answer, retryAfterMs = 0, nowMs, random } = input
  const { attempts } = webhook
  const failingUnix = webhook.failingUnix ?? Math.floor(nowMs / 1_000)
  const isGone = answer === '410'
  if (isGone || nowMs / 1_000 - failingUnix >= FAILING_MAX_SECONDS)
    return { state: 'disabled', reason: isGone ? 'gone' : 'failing', dueMs: null }
  const asked = Math.min(retryAfterMs, FAILING_MAX_SECONDS * 1_000)
  const delayMs = Math.max(DELAYS_MS[attempts] ?? 3_600_000, asked) * (1 + JITTER * random)
  const dueMs = nowMs + Math.round(delayMs)
  return { state: 'failing', attempts: attempts + 1, failingUnix, dueMs }
}
