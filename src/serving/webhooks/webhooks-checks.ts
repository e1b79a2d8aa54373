import { type Check, DIFFERENCES_MAX, queryCheck } from '#accounts/ledger/check.ts'
import { sql } from '#store/sql.ts'

export const webhooksChecks: readonly Check[] = [
  queryCheck(
    'a webhook that gets events knows when to look',
    sql`select id as subject, 'a due time' as expected, 'none' as found from webhooks
      where state in ('active', 'unfunded', 'failing') and due_ms is null
      order by id limit ${DIFFERENCES_MAX}`,
  ),
]
