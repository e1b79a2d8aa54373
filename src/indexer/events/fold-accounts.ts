import { chunks } from '#lib/chunks.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { addSums, type Contribution, NOTHING, type Sums } from './event.ts'
import { readSums, writeSums } from './sums-row.ts'

/** The token column of an account's row over all tokens; its amount has no meaning. */
export const ALL_TOKENS = ''

interface AccountDelta {
  readonly token: string
  readonly account: string
  sums: Sums
  /** Unix seconds of the earliest and latest event that this change brings. */
  firstUnix: number
  lastUnix: number
}

/** Adds contributions to the sums per account and token, and counts the accounts. */
export async function foldAccounts(
  connection: Connection,
  dataset: string,
  contributions: readonly Contribution[],
): Promise<void> {
  const deltas = [...collect(contributions).values()]
  for (const part of chunks(deltas, ROWS_PER_STATEMENT))
    await foldAccountRows(connection, dataset, part)
}

function collect(contributions: readonly Contribution[]): Map<string, AccountDelta> {
  const deltas = new Map<string, AccountDelta>()
  for (const each of contributions) {
    const { account, timestamp } = each
    if (account === null) continue
    const allTokens = { ...each.sums, amount: 0n }
    for (const [token, sums] of [
      [each.token, each.sums],
      [ALL_TOKENS, allTokens],
    ] as const) {
      const delta = deltas.get(`${token}|${account}`)
      if (delta === undefined)
        deltas.set(`${token}|${account}`, {
          token,
          account,
          sums,
          firstUnix: timestamp,
          lastUnix: timestamp,
        })
      else {
        delta.sums = addSums(delta.sums, sums)
        delta.firstUnix = Math.min(delta.firstUnix, timestamp)
        delta.lastUnix = Math.max(delta.lastUnix, timestamp)
      }
    }
  }
  return deltas
}

async function foldAccountRows(
  connection: Connection,
  dataset: string,
  deltas: readonly AccountDelta[],
): Promise<void> {
  const stored = await connection.run(sql`
    select token, account, amount, usd, events, priced, first_unix, last_unix
    from event_accounts
    where dataset = ${dataset} and ${inKeys(
      { token: 'text', account: 'text' },
      deltas.map((delta) => [delta.token, delta.account]),
    )}`)
  const before = new Map(stored.map((row) => [`${row.token}|${row.account}`, row]))
  const kept: (readonly (string | number)[])[] = []
  const emptied: (readonly string[])[] = []
  let accounts = 0
  for (const delta of deltas) {
    const row = before.get(`${delta.token}|${delta.account}`)
    const sums = addSums(row === undefined ? NOTHING : readSums(row), delta.sums)
    if (sums.events === 0) emptied.push([delta.token, delta.account])
    else {
      const times = await timesOf(connection, dataset, delta, row)
      kept.push([dataset, delta.token, delta.account, ...writeSums(sums), ...times])
    }
    if (delta.token === ALL_TOKENS) accounts += Number(sums.events > 0) - Number(row !== undefined)
  }
  await store(connection, dataset, kept, emptied)
  await countAccounts(connection, dataset, accounts)
}

/** First and last time; looked up anew when events were taken back, since a minimum has no inverse. */
async function timesOf(
  connection: Connection,
  dataset: string,
  delta: AccountDelta,
  row: Row | undefined,
): Promise<readonly [number, number]> {
  if (delta.sums.events >= 0) {
    if (row === undefined) return [delta.firstUnix, delta.lastUnix]
    const first = column.integer(row, 'first_unix')
    const last = column.integer(row, 'last_unix')
    return delta.sums.events === 0
      ? [first, last]
      : [Math.min(first, delta.firstUnix), Math.max(last, delta.lastUnix)]
  }
  const token = delta.token === ALL_TOKENS ? sql`` : sql`and token = ${delta.token}`
  const [found] = await connection.run(sql`
    select min(timestamp_unix) as first_unix, max(timestamp_unix) as last_unix from events
    where dataset = ${dataset} and account = ${delta.account} and counted = 1 ${token}`)
  return found === undefined
    ? [delta.firstUnix, delta.lastUnix]
    : [column.integer(found, 'first_unix'), column.integer(found, 'last_unix')]
}

async function store(
  connection: Connection,
  dataset: string,
  kept: readonly (readonly (string | number)[])[],
  emptied: readonly (readonly string[])[],
): Promise<void> {
  if (kept.length > 0)
    await connection.run(sql`
      insert into event_accounts
        (dataset, token, account, amount, usd, events, priced, first_unix, last_unix)
      values ${rows(kept)}
      on conflict (dataset, token, account) do update set
        amount = excluded.amount, usd = excluded.usd, events = excluded.events,
        priced = excluded.priced, first_unix = excluded.first_unix, last_unix = excluded.last_unix`)
  if (emptied.length > 0)
    await connection.run(sql`
      delete from event_accounts
      where dataset = ${dataset} and ${inKeys({ token: 'text', account: 'text' }, emptied)}`)
}

async function countAccounts(
  connection: Connection,
  dataset: string,
  change: number,
): Promise<void> {
  if (change === 0) return
  await connection.run(sql`
    insert into event_account_counts (dataset, accounts) values (${dataset}, ${change})
    on conflict (dataset) do update set accounts = event_account_counts.accounts + ${change}`)
  await connection.run(
    sql`delete from event_account_counts where dataset = ${dataset} and accounts = 0`,
  )
}
