import type { Connection } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'
import type { TokenHistory } from './token-history.ts'

const PAGE = 20_000

export async function loadToken(
  connection: Connection,
  { chainId, dayUnix }: { readonly chainId: number; readonly dayUnix: number },
  history: TokenHistory,
): Promise<void> {
  const { symbol } = history
  history.beginDay(dayUnix)
  for await (const row of paged((after) =>
    connection.run(sql`
    select address, balance, since_unix, last_unix from balances
    where token = ${symbol} and chain_id = ${chainId} and address > ${after}
    order by address limit ${PAGE}`),
  ))
    history.restoreHolder(column.hex(row, 'address'), {
      balance: column.bigint(row, 'balance'),
      sinceUnix: column.integerOrNull(row, 'since_unix'),
      lastUnix: column.integer(row, 'last_unix'),
    })
  for await (const row of paged((after) =>
    connection.run(sql`
    select address, from_unix from holder_spans
    where token = ${symbol} and chain_id = ${chainId} and address > ${after}
      and until_unix = ${dayUnix}
    order by address limit ${PAGE}`),
  ))
    history.restoreEnded(column.hex(row, 'address'), column.integer(row, 'from_unix'))
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
