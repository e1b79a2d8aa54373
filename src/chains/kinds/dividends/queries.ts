import { addSums, NOTHING, type Sums } from '#chains/indexer/events/event.ts'
import { readSums } from '#chains/indexer/events/sums-row.ts'
import { DIVIDENDS } from '#chains/kinds/dividends/kind.ts'
import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'

export interface ClaimedToken extends Sums {
  readonly token: string
}

/** Unix seconds; null if never claimed. */
export interface ClaimSummary {
  readonly claims: number
  readonly usd: bigint
  readonly priced: number
  readonly firstUnix: number | null
  readonly lastUnix: number | null
  readonly tokens: readonly ClaimedToken[]
}

/** Zeros if the wallet never claimed. */
export async function readClaimSummary(
  connection: Connection,
  address: Address,
  symbols: readonly string[],
): Promise<ClaimSummary> {
  const found = await connection.run(sql`
    select token, amount, usd, events, priced, first_unix, last_unix from event_account_sums
    where dataset = ${DIVIDENDS} and token in (${join(symbols)}) and account = ${address}
    order by token`)
  const tokens = found.map((row) => ({ token: column.text(row, 'token'), ...readSums(row) }))
  const { events, usd, priced } = tokens.reduce<Sums>(addSums, NOTHING)
  const times = (name: string) => found.map((row) => column.integer(row, name))
  return {
    claims: events,
    usd,
    priced,
    firstUnix: found.length === 0 ? null : Math.min(...times('first_unix')),
    lastUnix: found.length === 0 ? null : Math.max(...times('last_unix')),
    tokens,
  }
}

export async function countRecipients(connection: Connection): Promise<number> {
  const [row] = await connection.run(
    sql`select accounts from event_account_counts where dataset = ${DIVIDENDS}`,
  )
  return row === undefined ? 0 : column.integer(row, 'accounts')
}
