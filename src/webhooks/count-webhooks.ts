import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Reads } from './webhook-store.ts'

export interface WebhookTotals {
  /** By state; active ones whose last attempt failed are `failing`. */
  readonly states: Readonly<Record<string, number>>
  readonly delivered: number
}

export async function countWebhooks(reads: Reads): Promise<WebhookTotals> {
  const found = await reads.run(sql`
    select case when state = 'active' and attempts > 0 then 'failing' else state end as shown,
      count(*) as webhooks, cast(sum(delivered) as bigint) as delivered
    from webhooks where state <> 'ended' group by 1`)
  const states = { verifying: 0, unverified: 0, active: 0, failing: 0, disabled: 0 }
  const counts = found.map((row) => [column.text(row, 'shown'), column.integer(row, 'webhooks')])
  return {
    states: { ...states, ...Object.fromEntries(counts) },
    delivered: found.reduce((sum, row) => sum + column.integer(row, 'delivered'), 0),
  }
}

export async function countQueues(
  reads: Reads,
): Promise<{ readonly waiting: number; readonly dead: number }> {
  const [row = {}] = await reads.run(sql`
    select (select count(*) from webhook_events where state <> 'dead') as waiting,
      (select count(*) from webhook_events where state = 'dead') as dead`)
  return { waiting: column.integer(row, 'waiting'), dead: column.integer(row, 'dead') }
}
