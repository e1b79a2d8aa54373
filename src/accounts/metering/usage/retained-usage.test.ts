import assert from 'node:assert/strict'
import { RETAINED_USAGE, ROWS_PER_PAGE } from '#accounts/metering/usage/usage.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { createPruning } from '#index/retained.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const TODAY = 20_000 * DAY_SECONDS

/** Adds one row each for `count` callers, `daysAgo` days ago. */
async function addDays(
  engine: Engine,
  {
    prefix,
    count,
    daysAgo,
    paid = 0,
  }: { prefix: string; count: number; daysAgo: number; paid?: number },
): Promise<void> {
  const day = TODAY - daysAgo * DAY_SECONDS
  const buckets = Array.from({ length: count }, (_, n) => [`${prefix}${n}`, day])
  const into = {
    table: 'usage_days',
    columns: { bucket: 'text', day: 'bigint' },
    constants: { used: 5, paid, granted: 0, quota: 5, quota_most: 5 },
  } as const
  await engine.write((tx) => tx.insert(into, buckets))
}

async function left(engine: Engine): Promise<Record<string, number>> {
  const rows = await engine.read(sql`
    select substr(bucket, 1, 4) as kind, count(*) as count from usage_days group by 1 order by 1`)
  return Object.fromEntries(rows.map((row) => [String(row.kind), Number(row.count)]))
}

onBoth('old usage is deleted in small transactions, however much there is', async ({ engine }) => {
  const page = ROWS_PER_PAGE[engine.dialect]
  await addDays(engine, { prefix: '192.', count: 20 * page, daysAgo: 36 })
  await addDays(engine, { prefix: 'new.', count: 10, daysAgo: 34 })
  await addDays(engine, { prefix: 'wallet:', count: 14 * page, daysAgo: 101 })
  await addDays(engine, { prefix: 'wallet:', count: 30, daysAgo: 99 })
  await addDays(engine, { prefix: 'paid', count: 10 * page, daysAgo: 200, paid: 1 })
  const removed: number[] = []
  const count = async () => Object.values(await left(engine)).reduce((sum, each) => sum + each, 0)
  const counted: Engine = {
    ...engine,
    async write(work) {
      const before = await count()
      const done = await engine.write(work)
      removed.push(before - (await count()))
      return done
    },
  }
  const prune = createPruning(RETAINED_USAGE)
  const today = { engine: counted, nowUnix: TODAY }
  await prune(today)
  assert.deepEqual(await left(engine), { 'new.': 10, paid: 10 * page, wall: 30 })
  assert.ok(Math.max(...removed) <= page, `${removed}`)
  removed.length = 0
  await prune(today)
  assert.equal(removed.filter(Boolean).length, 0, 'rows already visited are not visited again')
})
