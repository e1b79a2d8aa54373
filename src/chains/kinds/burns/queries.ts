import { BURNS } from '#chains/kinds/burns/kind.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Returns Unix seconds; null if never burned. */
export async function firstAndLastBurn(
  connection: Connection,
  token: string,
  chainId: number,
): Promise<{ readonly firstUnix: number | null; readonly lastUnix: number | null }> {
  const ofChain = sql`from events
    where dataset = ${BURNS} and token = ${token} and chain_id = ${chainId}`
  const [row] = await connection.run(sql`
    select
      (select timestamp_unix ${ofChain} order by timestamp_unix limit 1) as first_unix,
      (select timestamp_unix ${ofChain} order by timestamp_unix desc limit 1) as last_unix`)
  return {
    firstUnix: row === undefined ? null : column.integerOrNull(row, 'first_unix'),
    lastUnix: row === undefined ? null : column.integerOrNull(row, 'last_unix'),
  }
}
