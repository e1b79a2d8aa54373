import { chunks } from '#lib/chunks.ts'
import { startOfDay, startOfHour } from '#lib/day.ts'
import { groupBy } from '#lib/group-by.ts'
import type { Connection, Row } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { addSums, type Contribution, NOTHING, type Sums } from './event.ts'
import { foldAccounts } from './fold-accounts.ts'
import { readSums, writeSums } from './sums-row.ts'

/** The bucket of everything since the beginning. */
export const TOTAL = 0

/**
 * Adds contributions to the hour, day and total buckets and to the accounts. Sums commute, so the
 * order does not matter, and a negated contribution takes exactly itself back.
 */
export async function foldEvents(
  connection: Connection,
  dataset: string,
  contributions: readonly Contribution[],
): Promise<void> {
  await foldBuckets(connection, dataset, contributions)
  await foldAccounts(connection, dataset, contributions)
}

type BucketKey = readonly [token: string, chainId: number, grain: string, bucketUnix: number]

async function foldBuckets(
  connection: Connection,
  dataset: string,
  contributions: readonly Contribution[],
): Promise<void> {
  const deltas = new Map<string, { readonly key: BucketKey; sums: Sums }>()
  for (const each of contributions) {
    for (const key of bucketsOf(each)) {
      const id = key.join('|')
      const delta = deltas.get(id)
      if (delta === undefined) deltas.set(id, { key, sums: each.sums })
      else delta.sums = addSums(delta.sums, each.sums)
    }
  }
  for (const part of chunks([...deltas.values()], ROWS_PER_STATEMENT))
    await foldBucketRows(connection, dataset, part)
}

function bucketsOf(each: Contribution): readonly BucketKey[] {
  return [
    [each.token, each.chainId, 'hour', startOfHour(each.timestamp)],
    [each.token, each.chainId, 'day', startOfDay(each.timestamp)],
    [each.token, each.chainId, 'total', TOTAL],
  ]
}

async function foldBucketRows(
  connection: Connection,
  dataset: string,
  deltas: readonly { readonly key: BucketKey; readonly sums: Sums }[],
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
    groupBy(after, ({ sums }) => String(sums.events === 0)),
  )
  if (kept.length > 0)
    await connection.run(sql`
      insert into event_buckets
        (dataset, token, chain_id, grain, bucket_unix, amount, usd, events, priced)
      values ${rows(kept.map(({ key, sums }) => [dataset, ...key, ...writeSums(sums)]))}
      on conflict (dataset, token, chain_id, grain, bucket_unix) do update set
        amount = excluded.amount, usd = excluded.usd,
        events = excluded.events, priced = excluded.priced`)
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
