import { allEnded } from '#lib/all-ended.ts'
import { chunks } from '#lib/chunks.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
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

/** What accounts gain, by token and account. */
export type AccountDeltas = Map<string, AccountDelta>

/** Adds a contribution to what its account gains, of its token and of all tokens. */
export function addToAccounts(deltas: AccountDeltas, each: Contribution): void {
  if (each.account === null) return
  addToAccount(deltas, each, each.token, each.account)
  const sums = { ...each.sums, amount: 0n }
  addToAccount(deltas, { ...each, sums }, ALL_TOKENS, each.account)
}

function addToAccount(
  deltas: AccountDeltas,
  { sums, timestamp }: Contribution,
  token: string,
  account: string,
): void {
  const key = `${token}|${account}`
  const delta = deltas.get(key)
  if (delta === undefined)
    deltas.set(key, { token, account, sums, firstUnix: timestamp, lastUnix: timestamp })
  else {
    delta.sums = addSums(delta.sums, sums)
    delta.firstUnix = Math.min(delta.firstUnix, timestamp)
    delta.lastUnix = Math.max(delta.lastUnix, timestamp)
  }
}

/** Folds what accounts gained into the sums per account and token, and counts the accounts. */
export async function foldAccounts(
  connection: Connection,
  dataset: string,
  deltas: AccountDeltas,
): Promise<void> {
  const parts = chunks([...deltas.values()].sort(byKey), ROWS_PER_STATEMENT)
  // No two parts share a row, so none waits for the answer to another.
  const accounts = await allEnded(parts.map((part) => foldAccountRows(connection, dataset, part)))
  await countAccounts(
    connection,
    dataset,
    accounts.reduce((sum, each) => sum + each, 0),
  )
}

/** Neighbours in the index are written together. */
function byKey(a: AccountDelta, b: AccountDelta): number {
  return compareText(a.token, b.token) || compareText(a.account, b.account)
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Gives how many accounts there are more (or fewer). */
async function foldAccountRows(
  connection: Connection,
  dataset: string,
  deltas: readonly AccountDelta[],
): Promise<number> {
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
    if (sums.events === 0) {
      if (row !== undefined) emptied.push([delta.token, delta.account])
    } else {
      const times = await timesOf(connection, dataset, delta, row)
      kept.push([dataset, delta.token, delta.account, ...writeSums(sums), ...times])
    }
    if (delta.token === ALL_TOKENS) accounts += Number(sums.events > 0) - Number(row !== undefined)
  }
  await store(connection, dataset, kept, emptied)
  return accounts
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

const EVENT_ACCOUNTS: BulkInsert = {
  table: 'event_accounts',
  columns: {
    dataset: 'text',
    token: 'text',
    account: 'text',
    amount: 'text',
    usd: 'text',
    events: 'bigint',
    priced: 'bigint',
    first_unix: 'bigint',
    last_unix: 'bigint',
  },
  conflict: `on conflict (dataset, token, account) do update set
    amount = excluded.amount, usd = excluded.usd, events = excluded.events,
    priced = excluded.priced, first_unix = excluded.first_unix, last_unix = excluded.last_unix`,
}

async function store(
  connection: Connection,
  dataset: string,
  kept: readonly (readonly (string | number)[])[],
  emptied: readonly (readonly string[])[],
): Promise<void> {
  await connection.insert(EVENT_ACCOUNTS, kept)
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
