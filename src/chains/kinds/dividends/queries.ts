import type { Accounts } from '#chains/indexer/events/accounts-at.ts'
import { addSums, type Contribution, NOTHING, type Sums } from '#chains/indexer/events/event.ts'
import { readSums } from '#chains/indexer/events/sums-row.ts'
import { DIVIDENDS } from '#chains/kinds/dividends/kind.ts'
import type { Address } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'

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

export function summarizeClaims(claims: readonly Contribution[]): ClaimSummary {
  const tokens = new Map<string, Sums>()
  for (const { token, sums } of claims)
    tokens.set(token, addSums(tokens.get(token) ?? NOTHING, sums))
  const { events, usd, priced } = claims.map(({ sums }) => sums).reduce(addSums, NOTHING)
  const times = claims.map(({ timestamp }) => timestamp).sort((a, b) => a - b)
  return {
    claims: events,
    usd,
    priced,
    firstUnix: times[0] ?? null,
    lastUnix: times.at(-1) ?? null,
    tokens: [...tokens]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([token, sums]) => ({ token, ...sums })),
  }
}

export async function countRecipientsBefore(
  connection: Connection,
  later: Accounts,
  symbols: readonly string[],
): Promise<number> {
  const events = new Map<string, number>()
  const keys = symbols.flatMap((token) => [...later.keys()].map((account) => [token, account]))
  for (const part of chunks(keys, ROWS_PER_STATEMENT)) {
    const found = await connection.run(sql`
      select account, events from event_account_sums
      where dataset = ${DIVIDENDS} and ${inKeys({ token: 'text', account: 'text' }, part)}`)
    for (const row of found) {
      const account = column.text(row, 'account')
      events.set(account, (events.get(account) ?? 0) + column.integer(row, 'events'))
    }
  }
  const begun = [...later.values()].filter((each) => events.get(each.address) === each.events)
  return (await countRecipients(connection)) - begun.length
}

export async function countRecipients(connection: Connection): Promise<number> {
  const [row] = await connection.run(
    sql`select accounts from event_account_counts where dataset = ${DIVIDENDS}`,
  )
  return row === undefined ? 0 : column.integer(row, 'accounts')
}
