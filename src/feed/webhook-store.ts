import type { Connection, Tables } from '#db/engine.ts'
import {
  column,
  defineCodec,
  empty,
  inNames,
  join,
  type RowOf,
  type SqlValue,
  sql,
  toColumn,
} from '#db/sql.ts'
import { type Retained, START } from '#index/retained.ts'

export const webhookTables: Tables = `
      create table webhooks (
        id text primary key,
        public_id text not null,
        wallet text not null,
        url text not null,
        description text,
        filter text not null,
        secret text not null,
        enabled bigint not null default 1,
        reason text,
        cursor text not null,
        attempts bigint not null default 0,
        failing_unix bigint,
        due_ms bigint not null default 0,
        delivered bigint not null default 0,
        answer text,
        answer_unix bigint,
        created_unix bigint not null
      );
      create index webhooks_by_key on webhooks (public_id, created_unix, id);
      create index webhooks_by_wallet on webhooks (wallet)`

const webhooks = defineCodec({
  id: column.text,
  /** The key that registered it; that key's newest rotation pays. */
  publicId: column.text,
  wallet: column.text,
  url: column.text,
  description: column.textOrNull,
  /** Stream parameters as JSON. */
  filter: column.text,
  /** Signs the events; shown only when made or rotated. */
  secret: column.text,
  enabled: column.flag,
  /** Why it is disabled. */
  reason: column.textOrNull,
  /** The last change of the feed that was delivered or skipped. */
  cursor: column.text,
  /** Failed attempts in a row, and since when. */
  attempts: column.integer,
  failingUnix: column.integerOrNull,
  /** Earliest time of the next attempt; 0 if it need not wait. */
  dueMs: column.integer,
  delivered: column.integer,
  /** The last response, or why there was none. */
  answer: column.textOrNull,
  answerUnix: column.integerOrNull,
  createdUnix: column.integer,
})

/** A webhook: a cursor on the feed whose changes are posted to a URL. */
export type Webhook = RowOf<typeof webhooks>

/** Resets the retry state. */
export const AT_ONCE: Partial<Webhook> = { attempts: 0, failingUnix: null, dueMs: 0 }

type Reads = Pick<Connection, 'run'>

/** Lists the webhooks of these keys, oldest first. */
export async function listWebhooks(
  reads: Reads,
  publicIds: readonly string[],
): Promise<readonly Webhook[]> {
  const found = await reads.run(sql`
    select ${webhooks.columns} from webhooks
    where public_id ${inNames(publicIds)} order by created_unix, id`)
  return found.map(webhooks.read)
}

export async function findWebhook(reads: Reads, id: string): Promise<Webhook | undefined> {
  const [row] = await reads.run(sql`select ${webhooks.columns} from webhooks where id = ${id}`)
  return row && webhooks.read(row)
}

/** Lists enabled webhooks that are due, ordered by id. */
export async function dueWebhooks(
  reads: Reads,
  page: { readonly nowMs: number; readonly afterId: string; readonly limit: number },
): Promise<readonly Webhook[]> {
  const { nowMs, afterId, limit } = page
  // A last answer in the future was written before the clock was set back.
  const found = await reads.run(sql`
    select ${webhooks.columns} from webhooks
    where enabled = 1 and id > ${afterId}
      and (due_ms <= ${nowMs} or answer_unix > ${Math.ceil(nowMs / 1_000)})
    order by id limit ${limit}`)
  return found.map(webhooks.read)
}

/** Locks the wallet, so that parallel registrations are counted one after the other. */
export async function countOfWallet(tx: Connection, wallet: string): Promise<number> {
  await tx.run(sql`update wallets set wallet = wallet where wallet = ${wallet}`)
  const [row = {}] = await tx.run(sql`
    select count(*) as webhooks from webhooks where wallet = ${wallet}`)
  return column.integer(row, 'webhooks')
}

export async function insertWebhook(tx: Connection, webhook: Partial<Webhook>): Promise<void> {
  const members = Object.entries(webhook)
  await tx.run(sql`
    insert into webhooks (${join(members.map(([member]) => toColumn(member)))})
    values (${join(members.map(([, value]) => stored(value)))})`)
}

/** Returns the changed webhook; undefined if it is gone, or if its cursor differs from the given one. */
export async function changeWebhook(
  tx: Connection,
  { id, cursor }: Pick<Webhook, 'id'> & Partial<Pick<Webhook, 'cursor'>>,
  changes: Partial<Webhook>,
): Promise<Webhook | undefined> {
  const set = Object.entries(changes).map(
    ([member, value]) => sql`${toColumn(member)} = ${stored(value)}`,
  )
  const [row] = await tx.run(sql`
    update webhooks set ${join(set)}
    where id = ${id} ${cursor === undefined ? empty : sql`and cursor = ${cursor}`}
    returning ${webhooks.columns}`)
  return row && webhooks.read(row)
}

function stored(value: SqlValue | boolean): SqlValue {
  return typeof value === 'boolean' ? Number(value) : value
}

export async function removeWebhooks(tx: Connection, ids: readonly string[]): Promise<void> {
  await tx.run(sql`delete from webhooks where id ${inNames(ids)}`)
}

/** Deletes webhooks that stayed disabled. */
export const RETAINED_WEBHOOKS: Retained = {
  keepDays: 30,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(tx, { beforeUnix, limit }) {
    const deleted = await tx.run(sql`
      delete from webhooks where id in (
        select id from webhooks where enabled = 0 and answer_unix < ${beforeUnix} limit ${limit}
      ) returning id`)
    return { place: START, isDone: deleted.length < limit }
  },
}
