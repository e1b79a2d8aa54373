import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RETAINED_USAGE, ROWS_PER_PAGE } from '#accounts/metering/usage/usage.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { createPruning } from '#index/retained.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'

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

test('SQLite bounds each page of old rows by an index, however many more are old', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const plans: string[] = []
    const explaining: Engine = {
      ...engine,
      write: (work) =>
        engine.write((tx) =>
          work({
            insert: (into, rows) => tx.insert(into, rows),
            async run(statement) {
              const [first = '', ...rest] = statement.parts
              if (!/^\s*delete/.test(first)) return tx.run(statement)
              const explain = { ...statement, parts: [`explain query plan ${first}`, ...rest] }
              const [top] = await tx.run(explain)
              plans.push(String(top?.detail))
              return tx.run(statement)
            },
          }),
        ),
    }
    await createPruning(RETAINED_USAGE)({ engine: explaining, nowUnix: TODAY })
    assert.equal(plans.length, 3)
    for (const plan of plans)
      assert.match(plan, /autoindex_\w+ \((\(day,\w+\))>\(\?,\?\) AND \1<\(\?,\?\)\)/)
  }))

const plans: readonly (readonly [string, string, RegExp])[] = [
  [
    'old counters',
    `select day, bucket from usage_days where day < 9 and (day, bucket) > (1, 'a')
     order by day, bucket limit 1 offset 199`,
    /using covering index sqlite_autoindex_usage_days_1/i,
  ],
  [
    'old counters of keys',
    `select day, public_id from key_days where day < 9 and (day, public_id) > (1, 'a')
     order by day, public_id limit 1 offset 199`,
    /using covering index sqlite_autoindex_key_days_1/i,
  ],
  [
    'the keys before a key',
    `select older.public_id from keys as newer join keys as older on older.successor = newer.public_id
     where newer.public_id = 'a'`,
    /using (covering )?index keys_by_successor/i,
  ],
]
for (const [what, text, plan] of plans)
  test(`SQLite finds ${what} by an index`, () =>
    onSqlite(accountsMigrations, async ({ engine }) => {
      const rows = await engine.read({
        kind: 'sql',
        parts: [`explain query plan ${text}`],
        values: [],
      })
      const details = rows.map((row) => String(row.detail)).join('\n')
      assert.match(details, plan)
      assert.doesNotMatch(details, /scan|temp b-tree/i)
    }))
