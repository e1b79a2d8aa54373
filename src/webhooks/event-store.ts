import { type Retained, START } from '#jobs/retained.ts'
import { toIso } from '#lib/time.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import { DEAD_KEPT_DAYS, DEAD_MAX, EVENT_TTL_SECONDS, type Webhook } from './webhook.ts'
import { changeWebhook, type Reads } from './webhook-store.ts'

export interface QueuedEvent {
  /** `webhook-id`, the same at every attempt. */
  readonly id: string
  readonly webhookId: string
  readonly place: number
  readonly type: string
  readonly payload: string
  /** `owed`: delivered, and not paid for yet. */
  readonly state: 'waiting' | 'owed' | 'dead'
  readonly isFree: boolean
  readonly queuedUnix: number
  readonly reason: string | null
  readonly diedUnix: number | null
}

export interface NewEvent {
  readonly type: string
  /** JSON. */
  readonly data: string
  readonly isFree: boolean
}

/** At the end of the queue of a locked webhook, to be sent at once unless it waits to be retried. */
export async function queueEvents(
  connection: Connection,
  webhook: Webhook,
  { events, nowMs }: { readonly events: readonly NewEvent[]; readonly nowMs: number },
): Promise<void> {
  const nowUnix = Math.floor(nowMs / 1_000)
  const timestamp = toIso(nowUnix)
  const rows = events.map(({ type, data, isFree }, index) => {
    const place = webhook.lastPlace + 1 + index
    const payload = `{"type":${JSON.stringify(type)},"timestamp":"${timestamp}","data":${data}}`
    return [`${webhook.id}-${place}`, webhook.id, place, type, payload, Number(isFree), nowUnix]
  })
  await connection.insert(
    QUEUED,
    rows.map((row) => [...row, 'waiting']),
  )
  await changeWebhook(connection, webhook, {
    lastPlace: webhook.lastPlace + events.length,
    dueMs: webhook.dueMs ?? nowMs,
  })
}

const QUEUED: BulkInsert = {
  table: 'webhook_events',
  columns: {
    id: 'text',
    webhook_id: 'text',
    place: 'bigint',
    type: 'text',
    payload: 'text',
    is_free: 'bigint',
    queued_unix: 'bigint',
    state: 'text',
  },
}

const COLUMNS = sql`id, webhook_id, place, type, payload, state, is_free, queued_unix, reason, died_unix`

export async function nextEvents(
  reads: Reads,
  { webhookId, limit }: { readonly webhookId: string; readonly limit: number },
): Promise<readonly QueuedEvent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from webhook_events
    where webhook_id = ${webhookId} and state <> 'dead' order by place limit ${limit}`)
  return found.map(toEvent)
}

export async function hasQueued(connection: Connection, webhookId: string): Promise<boolean> {
  return (await nextEvents(connection, { webhookId, limit: 1 })).length > 0
}

/** Of these, the ones that are still queued. */
export async function lockQueued(
  connection: Connection,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await connection.run(sql`
    update webhook_events set id = id where id ${inNames(ids)} and state <> 'dead' returning id`)
  return new Set(found.map((row) => column.text(row, 'id')))
}

export async function removeEvents(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(sql`delete from webhook_events where id ${inNames(ids)}`)
}

export async function markOwed(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(sql`update webhook_events set state = 'owed' where id ${inNames(ids)}`)
}

/** Queued for longer than a day, or all. Delivered ones that nobody paid for are forgotten. */
export async function buryEvents(
  connection: Connection,
  input: {
    readonly webhookId: string
    readonly nowUnix: number
    readonly reason: string
    readonly which: 'old' | 'all'
  },
): Promise<void> {
  const { webhookId, nowUnix, reason, which } = input
  const until = which === 'all' ? Number.MAX_SAFE_INTEGER : nowUnix - EVENT_TTL_SECONDS
  await connection.run(sql`
    delete from webhook_events
    where webhook_id = ${webhookId} and state = 'owed' and queued_unix <= ${until}`)
  const died = await connection.run(sql`
    update webhook_events set state = 'dead', reason = ${reason}, died_unix = ${nowUnix}
    where webhook_id = ${webhookId} and state = 'waiting' and queued_unix <= ${until} returning id`)
  if (died.length === 0) return
  await connection.run(sql`
    delete from webhook_events where webhook_id = ${webhookId} and state = 'dead' and place <= (
      select place from webhook_events where webhook_id = ${webhookId} and state = 'dead'
      order by place desc limit 1 offset ${DEAD_MAX})`)
}

export const RETAINED_DEAD_EVENTS: Retained = {
  rows: 'dead letters of webhooks',
  keepDays: DEAD_KEPT_DAYS,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    const deleted = await connection.run(sql`
      delete from webhook_events where id in (
        select id from webhook_events where state = 'dead' and died_unix < ${beforeUnix}
        limit ${limit}) returning id`)
    return { place: START, isDone: deleted.length < limit }
  },
}

/** Newest first. */
export async function deadEvents(
  reads: Reads,
  input: { readonly webhookId: string; readonly before: number; readonly limit: number },
): Promise<readonly QueuedEvent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from webhook_events
    where webhook_id = ${input.webhookId} and state = 'dead' and place < ${input.before}
    order by place desc limit ${input.limit}`)
  return found.map(toEvent)
}

/** To the end of the queue, in their order, as if they were new. */
export async function reviveEvents(
  connection: Connection,
  webhook: Webhook,
  input: { readonly ids: readonly string[] | undefined; readonly nowMs: number },
): Promise<readonly string[]> {
  const { ids, nowMs } = input
  const found = await connection.run(sql`
    select id from webhook_events where webhook_id = ${webhook.id} and state = 'dead' order by place`)
  const wanted = found
    .map((row) => column.text(row, 'id'))
    .filter((id) => ids === undefined || ids.includes(id))
  for (const [index, id] of wanted.entries())
    await connection.run(sql`
      update webhook_events set state = 'waiting', reason = null, died_unix = null,
        place = ${webhook.lastPlace + 1 + index}, queued_unix = ${Math.floor(nowMs / 1_000)}
      where id = ${id}`)
  const lastPlace = webhook.lastPlace + wanted.length
  await changeWebhook(connection, webhook, { lastPlace, dueMs: nowMs })
  return wanted
}

export interface EventCounts {
  readonly waiting: number
  readonly dead: number
  readonly oldestUnix: number | null
}

export async function countEvents(
  reads: Reads,
  webhookIds: readonly string[],
): Promise<ReadonlyMap<string, EventCounts>> {
  const found = await reads.run(sql`
    select webhook_id, cast(sum(case when state = 'dead' then 0 else 1 end) as bigint) as waiting,
      cast(sum(case when state = 'dead' then 1 else 0 end) as bigint) as dead,
      min(case when state = 'dead' then null else queued_unix end) as oldest_unix
    from webhook_events where webhook_id ${inNames(webhookIds)} group by webhook_id`)
  return new Map(
    found.map((row) => [
      column.text(row, 'webhook_id'),
      {
        waiting: column.integer(row, 'waiting'),
        dead: column.integer(row, 'dead'),
        oldestUnix: column.integerOrNull(row, 'oldest_unix'),
      },
    ]),
  )
}

function toEvent(row: Row): QueuedEvent {
  return {
    id: column.text(row, 'id'),
    webhookId: column.text(row, 'webhook_id'),
    place: column.integer(row, 'place'),
    type: column.text(row, 'type'),
    payload: column.text(row, 'payload'),
    state: column.text(row, 'state') as QueuedEvent['state'],
    isFree: column.flag(row, 'is_free'),
    queuedUnix: column.integer(row, 'queued_unix'),
    reason: column.textOrNull(row, 'reason'),
    diedUnix: column.integerOrNull(row, 'died_unix'),
  }
}
