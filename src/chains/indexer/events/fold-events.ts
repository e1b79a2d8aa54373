import { allEnded } from '#lib/async.ts'
import { chunks } from '#lib/chunks.ts'
import { startOfDay, startOfHour } from '#lib/time.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, type Row, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { type AccountDeltas, addToAccounts, foldAccounts } from './fold-accounts.ts'
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
