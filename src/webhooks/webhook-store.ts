import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, type Sql, sql } from '#store/sql.ts'
import { toWebhook, WAITING_MAX, WEBHOOK_COLUMNS, type Webhook } from './webhook.ts'

export interface Reads {
  run(statement: Sql): Promise<readonly Row[]>
}

/** Of these keys, oldest first. */
export async function listWebhooks(
  reads: Reads,
  publicIds: readonly string[],
): Promise<readonly Webhook[]> {
  const found = await reads.run(sql`
    select ${WEBHOOK_COLUMNS} from webhooks
    where public_id ${inNames(publicIds)} and state <> 'ended'
    order by created_unix, id`)
  return found.map(toWebhook)
}

export async function insertWebhook(
  connection: Connection,
  input: Pick<
    Webhook,
    'id' | 'publicId' | 'url' | 'description' | 'filter' | 'challenge' | 'createdUnix'
  > & { readonly nowMs: number },
): Promise<void> {
  await connection.run(sql`
    insert into webhooks (id, public_id, url, description, filter, state, challenge, due_ms, created_unix)
    values (${input.id}, ${input.publicId}, ${input.url}, ${input.description}, ${input.filter},
      'verifying', ${input.challenge}, ${input.nowMs}, ${input.createdUnix})`)
}

/** Locked until the transaction ends; absent once removed. */
export async function lockWebhooks(
  connection: Connection,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Webhook>> {
  const found = await connection.run(sql`
    update webhooks set id = id where id ${inNames(ids)} returning ${WEBHOOK_COLUMNS}`)
  return new Map(found.map((row) => [column.text(row, 'id'), toWebhook(row)]))
}

type Changes = Partial<
  Pick<
    Webhook,
    | 'state'
    | 'reason'
    | 'challenge'
    | 'epoch'
    | 'sequence'
    | 'lastPlace'
    | 'attempts'
    | 'failingUnix'
    | 'dueMs'
    | 'delivered'
    | 'answer'
    | 'answerUnix'
  >
>

/** Needs its lock. */
export async function changeWebhook(
  connection: Connection,
  webhook: Webhook,
  changes: Changes,
): Promise<void> {
  const now = { ...webhook, ...changes }
  await connection.run(sql`
    update webhooks set state = ${now.state}, reason = ${now.reason}, challenge = ${now.challenge},
      epoch = ${now.epoch}, sequence = ${now.sequence}, last_place = ${now.lastPlace},
      attempts = ${now.attempts}, failing_unix = ${now.failingUnix}, due_ms = ${now.dueMs},
      delivered = ${now.delivered}, answer = ${now.answer}, answer_unix = ${now.answerUnix}
    where id = ${now.id}`)
}

/** A later due time was written before the clock was set back. */
const DUE_AHEAD_MAX_MS = 2 * 3_600_000

/** Due now, longest first. */
export async function dueWebhooks(
  reads: Reads,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<readonly Webhook[]> {
  const found = await reads.run(sql`
    select ${WEBHOOK_COLUMNS} from webhooks
    where due_ms is not null and (due_ms <= ${nowMs} or due_ms > ${nowMs + DUE_AHEAD_MAX_MS})
    order by due_ms, id limit ${limit}`)
  return found.map(toWebhook)
}

/** Active ones that the feed is ahead of, unless too many of their events wait. */
export async function followingWebhooks(
  reads: Reads,
  at: { readonly epoch: string; readonly last: number },
): Promise<readonly Webhook[]> {
  const found = await reads.run(sql`
    select ${WEBHOOK_COLUMNS} from webhooks
    where state = 'active' and (epoch <> ${at.epoch} or sequence < ${at.last})
      and last_place - coalesce((
        select min(place) from webhook_events
        where webhook_id = webhooks.id and webhook_events.state <> 'dead'
      ), last_place + 1) + 1 < ${WAITING_MAX}`)
  return found.map(toWebhook)
}

export async function moveCursors(
  connection: Connection,
  ids: readonly string[],
  to: { readonly epoch: string; readonly sequence: number },
): Promise<void> {
  await connection.run(sql`
    update webhooks set epoch = ${to.epoch}, sequence = ${to.sequence} where id ${inNames(ids)}`)
}

export async function removeWebhook(connection: Connection, id: string): Promise<void> {
  await connection.run(sql`delete from webhook_events where webhook_id = ${id}`)
  await connection.run(sql`delete from webhooks where id = ${id}`)
}
