import type { Context } from '#context.ts'
import { cards } from '#data/cards.ts'
import { kindLists } from '#data/endpoints.ts'
import { toListRow } from '#data/event-lists.ts'
import { sql } from '#db/sql.ts'
import { LIST_COLUMNS } from '#index/event.ts'
import { toFeedEvent } from '#index/feed.ts'
import { readIndexStatus } from '#index/status.ts'

/** Events beyond this number are left out. */
const ROWS_MAX = 100

/** Returns a transaction's entries in log order, in the form of the lists; null before the index has begun. */
export function readEntries(
  { register, ecosystem }: Context,
  txHash: string,
): Promise<readonly object[] | null> {
  return register.snapshot(async (connection) => {
    const status = await readIndexStatus(connection, ecosystem.chains)
    if (status === undefined) return null
    const rows = await connection.run(sql`
      select dataset, ${LIST_COLUMNS} from events
      where tx_hash = ${txHash}
      order by chain_id, block_number, dataset, place
      limit ${ROWS_MAX}`)
    return rows.map(toFeedEvent).flatMap((event) => {
      const list = kindLists.find(({ kind }) => kind.dataset === event.dataset)
      const card = cards.find((each) => each.list.operationId === list?.operationId)
      if (list === undefined || card === undefined) return []
      return [{ entry: card.noun, ...toListRow(list, event, { status, ecosystem }) }]
    })
  })
}
