import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { TokenHistory } from './token-history.ts'

/** Rows held in memory at once. */
const PAGE = 20_000

/** Takes up what was stored of a token's history before the process ended. */
export async function loadToken(
  connection: Connection,
  chainId: number,
  history: TokenHistory,
): Promise<void> {
  const { symbol } = history
  for await (const row of paged((after) =>
    connection.run(sql`
    select address, balance from balances
    where token = ${symbol} and chain_id = ${chainId} and address > ${after}
    order by address limit ${PAGE}`),
  ))
    history.restoreBalance(column.hex(row, 'address'), column.u256(row, 'balance'))
  for await (const row of paged((after) =>
    connection.run(sql`
    select address, day_unix, holds from holder_days days
    where token = ${symbol} and chain_id = ${chainId} and address > ${after}
      and day_unix = (select max(day_unix) from holder_days of_address
        where of_address.token = days.token and of_address.address = days.address
          and of_address.chain_id = days.chain_id)
    order by address limit ${PAGE}`),
  ))
    history.restoreDay(column.hex(row, 'address'), {
      dayUnix: column.integer(row, 'day_unix'),
      holds: column.flag(row, 'holds'),
    })
}

async function* paged(read: (after: string) => Promise<readonly Row[]>): AsyncIterable<Row> {
  for (let after = ''; ; ) {
    const page = await read(after)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = column.text(last, 'address')
  }
}
