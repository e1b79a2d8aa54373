import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import { startOfDay, startOfHour } from '#lib/time.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import {
  addSums,
  type Contribution,
  NOTHING,
  readSums,
  type Sums,
  TOTAL,
  writeSums,
} from './sums.ts'

/** Sums commute: a negated contribution is its exact inverse. */
export async function foldEvents(
  connection: Connection,
  into: FoldedInto,
  contributions: Iterable<Contribution>,
): Promise<void> {
  const buckets = new Map<string, BucketDelta>()
  const accounts: AccountDeltas = new Map()
  for (const each of contributions) {
    addToBuckets(buckets, each)
    if (into.byAccount) addToAccounts(accounts, each)
  }
  const parts = chunks([...buckets.values()], ROWS_PER_STATEMENT)
  await allEnded([
    ...parts.map((part) => foldBucketRows(connection, into.dataset, part)),
    foldAccounts(connection, into.dataset, accounts),
  ])
}

export interface FoldedInto {
  readonly dataset: string
  readonly byAccount: boolean
}

type BucketKey = readonly [token: string, chainId: number, grain: string, bucketUnix: number]

interface BucketDelta {
  readonly key: BucketKey
  sums: Sums
}

function addToBuckets(
  deltas: Map<string, BucketDelta>,
  { token, chainId, timestamp, sums }: Contribution,
): void {
  const add = (grain: string, bucketUnix: number) => {
    const id = `${token}|${chainId}|${grain}|${bucketUnix}`
    const delta = deltas.get(id)
    if (delta === undefined) deltas.set(id, { key: [token, chainId, grain, bucketUnix], sums })
    else delta.sums = addSums(delta.sums, sums)
  }
  add('hour', startOfHour(timestamp))
  add('day', startOfDay(timestamp))
  add('total', TOTAL)
}

const EVENT_BUCKETS: BulkInsert = {
  table: 'event_buckets',
  columns: {
    dataset: 'text',
    token: 'text',
    chain_id: 'bigint',
    grain: 'text',
    bucket_unix: 'bigint',
    amount: 'text',
    usd: 'text',
    events: 'bigint',
    priced: 'bigint',
  },
  conflict: `on conflict (dataset, token, chain_id, grain, bucket_unix) do update set
    amount = excluded.amount, usd = excluded.usd,
    events = excluded.events, priced = excluded.priced`,
}

async function foldBucketRows(
  connection: Connection,
  dataset: string,
  deltas: readonly BucketDelta[],
): Promise<void> {
  const stored = await connection.run(sql`
    select token, chain_id, grain, bucket_unix, amount, usd, events, priced
    from event_buckets
    where dataset = ${dataset} and ${inKeys(
      { token: 'text', chain_id: 'bigint', grain: 'text', bucket_unix: 'bigint' },
      deltas.map((delta) => delta.key),
    )}`)
  const before = new Map(stored.map((row) => [bucketId(row), readSums(row)]))
  const after = deltas.map(({ key, sums }) => ({
    key,
    sums: addSums(before.get(key.join('|')) ?? NOTHING, sums),
  }))
  const { false: kept = [], true: emptied = [] } = Object.fromEntries(
    Map.groupBy(after, ({ sums }) => String(sums.events === 0)),
  )
  await connection.insert(
    EVENT_BUCKETS,
    kept.map(({ key, sums }) => [dataset, ...key, ...writeSums(sums)]),
  )
  if (emptied.length > 0)
    await connection.run(sql`
      delete from event_buckets where dataset = ${dataset} and ${inKeys(
        { token: 'text', chain_id: 'bigint', grain: 'text', bucket_unix: 'bigint' },
        emptied.map(({ key }) => key),
      )}`)
}

function bucketId(row: Row): string {
  return [row.token, row.chain_id, row.grain, row.bucket_unix].join('|')
}

interface AccountDelta {
  readonly token: string
  readonly account: string
  sums: Sums
  firstUnix: number
  lastUnix: number
}

type AccountDeltas = Map<string, AccountDelta>

function addToAccounts(deltas: AccountDeltas, each: Contribution): void {
  const { token, account, sums, timestamp } = each
  if (account === null) return
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

async function foldAccounts(
  connection: Connection,
  dataset: string,
  deltas: AccountDeltas,
): Promise<void> {
  if (deltas.size === 0) return
  const byAccount = Map.groupBy(deltas.values(), ({ account }) => account)
  const tokens = await tokensOf(connection, dataset, deltas)
  const accountsAtOnce = Math.max(1, Math.floor(ROWS_PER_STATEMENT / tokens.length))
  // Rows in index order.
  const parts = chunks([...byAccount].sort(byName), accountsAtOnce)
  // They share no account.
  const changes = await allEnded(
    parts.map((part) => foldAccountRows(connection, { dataset, tokens }, new Map(part))),
  )
  await countAccounts(
    connection,
    dataset,
    changes.reduce((sum, each) => sum + each, 0),
  )
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}

/** All tokens whose rows show whether an account is new or gone; a revaluation changes neither. */
async function tokensOf(
  connection: Connection,
  dataset: string,
  deltas: AccountDeltas,
): Promise<readonly string[]> {
  const own = new Set([...deltas.values()].map(({ token }) => token))
  const isCounted = [...deltas.values()].some(({ sums }) => sums.events !== 0)
  if (!isCounted) return [...own]
  const found = await connection.run(sql`
    select distinct token from event_buckets
    where dataset = ${dataset} and grain = 'total' and bucket_unix = ${TOTAL}`)
  // This change may add or remove some.
  return [...own.union(new Set(found.map((row) => column.text(row, 'token'))))].sort()
}

async function foldAccountRows(
  connection: Connection,
  { dataset, tokens }: { readonly dataset: string; readonly tokens: readonly string[] },
  accounts: ReadonlyMap<string, readonly AccountDelta[]>,
): Promise<number> {
  const keys = tokens.flatMap((token) => [...accounts.keys()].map((account) => [token, account]))
  const stored = await connection.run(sql`
    select token, account, amount, usd, events, priced, first_unix, last_unix
    from event_account_sums
    where dataset = ${dataset} and ${inKeys({ token: 'text', account: 'text' }, keys)}`)
  const before = new Map(stored.map((row) => [`${row.token}|${row.account}`, row]))
  const kept: (readonly (string | number)[])[] = []
  const emptied: (readonly string[])[] = []
  let change = 0
  for (const [account, deltas] of accounts) {
    const held = tokens.filter((token) => before.has(`${token}|${account}`)).length
    let holds = held
    for (const delta of deltas) {
      const row = before.get(`${delta.token}|${account}`)
      const sums = addSums(row === undefined ? NOTHING : readSums(row), delta.sums)
      if (sums.events > 0) {
        const times = await timesOf(connection, dataset, delta, row)
        kept.push([dataset, delta.token, account, ...writeSums(sums), ...times])
        if (row === undefined) holds += 1
      } else if (row !== undefined) {
        emptied.push([delta.token, account])
        holds -= 1
      }
    }
    change += Number(holds > 0) - Number(held > 0)
  }
  await store(connection, dataset, kept, emptied)
  return change
}

/** Reads first and last time from the events after a revert: a minimum has no inverse. */
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
  const [found] = await connection.run(sql`
    select min(timestamp_unix) as first_unix, max(timestamp_unix) as last_unix from events
    where dataset = ${dataset} and account = ${delta.account} and counted = 1
      and token = ${delta.token}`)
  return found === undefined
    ? [delta.firstUnix, delta.lastUnix]
    : [column.integer(found, 'first_unix'), column.integer(found, 'last_unix')]
}

const ACCOUNT_SUMS: BulkInsert = {
  table: 'event_account_sums',
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
  await connection.insert(ACCOUNT_SUMS, kept)
  if (emptied.length > 0)
    await connection.run(sql`
      delete from event_account_sums
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
