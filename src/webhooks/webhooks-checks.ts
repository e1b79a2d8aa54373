import { type Check, DIFFERENCES_MAX, queryCheck } from '#ledger/check.ts'
import { sql } from '#store/sql.ts'

export const webhooksChecks: readonly Check[] = [
  queryCheck(
    'every queued event of an active webhook will be sent',
    sql`select id as subject, 'a due time' as expected, 'none' as found from webhooks
      where state = 'active' and due_ms is null and exists (
        select 1 from webhook_events
        where webhook_id = webhooks.id and webhook_events.state <> 'dead')
      order by id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every event has a webhook and a place that it gave',
    sql`select webhook_events.id as subject, coalesce(last_place, 0) as expected, place as found
      from webhook_events left join webhooks on webhooks.id = webhook_id
      where last_place is null or place > last_place or place < 1
      order by webhook_events.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an active webhook knows where it is in the feed',
    sql`select id as subject, 'a cursor' as expected, 'none' as found from webhooks
      where state = 'active' and (epoch is null or sequence is null)
      order by id limit ${DIFFERENCES_MAX}`,
  ),
]
