import { DAY_SECONDS } from '#lib/time.ts'
import { type Retained, START } from '#operations/jobs/retained.ts'
import type { Connection } from '#store/engine.ts'
import { column, columnOf, inNames, join, type SqlValue, sql } from '#store/sql.ts'
import { FAILING_MAX_SECONDS, type Webhook, webhooks } from './webhook.ts'

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

/** Locks the wallet, so that two registrations at once are counted one after the other. */
export async function countOfWallet(connection: Connection, wallet: string): Promise<number> {
  await connection.run(sql`update wallets set wallet = wallet where wallet = ${wallet}`)
  const [row = {}] = await connection.run(sql`
    select count(*) as webhooks from webhooks where wallet = ${wallet}`)
  return column.integer(row, 'webhooks')
}

export async function insertWebhook(
  connection: Connection,
  webhook: Partial<Webhook>,
): Promise<void> {
  const members = Object.entries(webhook)
  await connection.run(sql`
    insert into webhooks (${join(members.map(([member]) => columnOf(member)))})
    values (${join(members.map(([, value]) => stored(value)))})`)
}

function stored(value: SqlValue | boolean): SqlValue {
  return typeof value === 'boolean' ? Number(value) : value
}

/** Locks the webhook until the transaction ends; undefined once removed. */
export async function lockWebhook(
  connection: Connection,
  id: string,
): Promise<Webhook | undefined> {
  const [row] = await connection.run(sql`
    update webhooks set id = id where id = ${id} returning ${webhooks.columns}`)
  return row && webhooks.read(row)
}

/** Changes nothing and returns false unless its cursor and state are as they were read. */
export async function changeWebhook(
  connection: Connection,
  read: Webhook,
  changes: Partial<Webhook>,
): Promise<boolean> {
  const changed = await connection.run(sql`
    update webhooks set ${join(Object.entries(changes).map(([member, value]) => sql`${columnOf(member)} = ${stored(value)}`))}
    where id = ${read.id} and cursor = ${read.cursor} and state = ${read.state} returning id`)
  return changed.length === 1
}

/** A later due time was written before the clock was set back; jitter adds to the longest wait. */
const DUE_AHEAD_MAX_MS = (FAILING_MAX_SECONDS + 3 * DAY_SECONDS) * 1_000

/** Returns webhooks that are due: one of each wallet, then a second of each, and so on. */
export async function dueWebhooks(
  reads: Reads,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<readonly Webhook[]> {
  const found = await reads.run(sql`
    select ${webhooks.columns} from (
      select ${webhooks.columns}, row_number() over (partition by wallet order by due_ms, id) as turn
      from webhooks
      where due_ms is not null and (due_ms <= ${nowMs} or due_ms > ${nowMs + DUE_AHEAD_MAX_MS})
    ) as due order by turn, due_ms, id limit ${limit}`)
  return found.map(webhooks.read)
}

/** A call of its wallet could not be paid. What receivers asked for holds. */
export async function markUnfunded(
  connection: Connection,
  input: { readonly wallet: string; readonly dueMs: number; readonly nowUnix: number },
): Promise<void> {
  await connection.run(sql`
    update webhooks set state = 'unfunded', answer = 'payment_required',
      answer_unix = ${input.nowUnix}, failing_unix = null,
      due_ms = case when due_ms > ${input.dueMs} then due_ms else ${input.dueMs} end
    where wallet = ${input.wallet} and state in ('active', 'failing')`)
}

export async function removeWebhook(connection: Connection, id: string): Promise<void> {
  await connection.run(sql`delete from webhooks where id = ${id}`)
}

/** Disabled ones are kept for 30 days. */
const DISABLED_MORE_SECONDS = 29 * DAY_SECONDS

/** They ended with their key, or were disabled and left so. */
export const RETAINED_WEBHOOKS: Retained = {
  keepDays: 1,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    const deleted = await connection.run(sql`
      delete from webhooks where id in (
        select id from webhooks where created_unix < ${beforeUnix}
          and state in ('ended', 'disabled')
          and coalesce(answer_unix, created_unix)
            + case when state = 'disabled' then ${DISABLED_MORE_SECONDS} else 0 end < ${beforeUnix}
        limit ${limit}) returning id`)
    return { place: START, isDone: deleted.length < limit }
  },
}
