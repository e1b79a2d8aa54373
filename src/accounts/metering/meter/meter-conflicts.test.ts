import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { sql } from '#db/sql.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { anonymous, count, MIGRATIONS, meterOf } from '#test/callers/meter-harness.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { eventually } from '#test/world.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const onPostgres = (guarantee: string, work: (engine: Engine, url: string) => Promise<void>) =>
  test(`PostgreSQL: ${guarantee}`, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts' })
    try {
      await engine.migrate(MIGRATIONS)
      await work(engine, url)
      await assertSound(engine)
    } finally {
      await engine.close()
    }
  })

const FAIL = `create function accounts.fail() returns trigger language plpgsql as
  $$ begin raise exception 'could not serialize access' using errcode = '40001'; end $$`
const BOUND = 'on accounts.usage_days'
const FOR_EACH = 'for each row execute function accounts.fail()'
const TRIGGERS = {
  'a statement': `create trigger fail before update ${BOUND} ${FOR_EACH}`,
  'the commit': `create constraint trigger fail after update ${BOUND} deferrable initially deferred ${FOR_EACH}`,
}

for (const [at, trigger] of Object.entries(TRIGGERS))
  onPostgres(
    `a serialization failure at ${at} refuses the callers and counts none; the next calls work`,
    async (engine, url) => {
      const meter = meterOf(engine)
      const caller = anonymous('192.0.2.1')
      const used = async () => (await meter.rateLimit(caller)).requestCount
      await meter.admit(caller)
      await runAsOwner(url, FAIL, trigger)
      await assert.rejects(meter.admit(caller), (error) => {
        assert.ok(error instanceof MeteringUnavailable && error.cause instanceof StoreError)
        assert.match(error.cause.message, /could not serialize access/)
        return true
      })
      await runAsOwner(url, 'drop trigger fail on accounts.usage_days')
      assert.equal(await used(), 1)
      assert.equal((await meter.admit(caller)).kind, 'admitted')
      assert.equal(await used(), 2)
    },
  )

onPostgres(
  'a deadlock with another session counts exactly the calls that were admitted',
  async (engine, url) => {
    const callers = [anonymous('192.0.2.1'), anonymous('192.0.2.2')]
    const meter = meterOf(engine)
    const admitBoth = async () => {
      const settled = await Promise.allSettled(callers.map((each) => meter.admit(each)))
      return count(
        settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
        'quota',
      )
    }
    assert.equal(await admitBoth(), 2)
    const other = new Client({ connectionString: url })
    await other.connect()
    try {
      // The meter takes rows in the order of their names, and this session in the opposite one.
      await other.query(`set deadlock_timeout = '3s'; begin; ${lockOf('192.0.2.2')}`)
      const admitting = admitBoth()
      await eventually(async () => (await waiting(engine)) || undefined, 10_000)
      await other.query(lockOf('192.0.2.1')).catch(() => undefined)
      await other.query('rollback')
      const admitted = 2 + (await admitting)
      const [row] = await engine.read(sql`
        select cast(sum(used) as bigint) as used from usage_days`)
      assert.equal(row?.used, admitted)
      assert.equal(await admitBoth(), 2)
      await eventually(async () => (await deadlocks(engine)) || undefined, 10_000)
    } finally {
      await other.end()
    }
  },
)

const lockOf = (bucket: string) =>
  `select from accounts.usage_days where bucket = '${bucket}' for update`

async function waiting(engine: Engine): Promise<boolean> {
  const found = await engine.read(sql`
    select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return found.length > 0
}

async function deadlocks(engine: Engine): Promise<boolean> {
  const [row] = await engine.read(sql`
    select deadlocks from pg_stat_database where datname = current_database()`)
  return Number(row?.deadlocks) > 0
}

async function runAsOwner(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}
