import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '#test/postgres.ts'
import { describeEngine } from '#test/store/conformance.ts'
import { LockTimeoutError, type Migration } from '../engine.ts'
import { sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'
import { PostgresConnection } from './postgres-connection.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

describeEngine('PostgreSQL', async () =>
  openPostgres({ url: await postgres.createDatabase(), schema: 'register' }),
)

const COUNTERS: readonly Migration[] = [
  { id: 1, name: 'counters', sql: 'create table counters (id text primary key, used bigint)' },
]
const add = sql`
  insert into counters (id, used) values ('a', 1)
  on conflict (id) do update set used = counters.used + 1`

test('PostgreSQL: a migration may exceed the statement timeout and the silence limit', async () => {
  const url = await postgres.createDatabase()
  const engine = openPostgres({ url, schema: 'accounts', silenceMaxMs: 200 })
  const slow = `select pg_sleep(1);
    create table limits as select current_setting('statement_timeout') as statement`
  try {
    await engine.migrate([...COUNTERS, { id: 2, name: 'slow', sql: slow }])
    assert.deepEqual(await engine.read(sql`select statement from limits`), [{ statement: '0' }])
    const [row] = await engine.read(sql`select current_setting('statement_timeout') as statement`)
    assert.equal(row?.statement, '30s')
  } finally {
    await engine.close()
  }
})

test('PostgreSQL: writeWithoutTimeout may exceed the statement timeout', async () => {
  const url = await postgres.createDatabase()
  const engine = openPostgres({ url, schema: 'accounts', silenceMaxMs: 200 })
  try {
    await engine.migrate(COUNTERS)
    const [row] = await engine.writeWithoutTimeout((connection) =>
      connection.run(sql`select pg_sleep(0.5), current_setting('statement_timeout') as statement`),
    )
    assert.equal(row?.statement, '0')
  } finally {
    await engine.close()
  }
})

test('PostgreSQL: a stuck lock fails the statement that waits for it, but not a migration', async () => {
  const url = await postgres.createDatabase()
  const stuck = openPostgres({ url, schema: 'accounts' })
  const waiting = openPostgres({ url, schema: 'accounts', lockTimeoutMs: 50 })
  try {
    await stuck.migrate(COUNTERS)
    await stuck.write(async (holder) => {
      await holder.run(add)
      await assert.rejects(
        waiting.write((connection) => connection.run(add)),
        (error) => error instanceof LockTimeoutError && /lock timeout/.test(error.message),
      )
    })
    let migrated: Promise<void> | undefined
    await stuck.write(async (holder) => {
      await holder.run(sql`lock table migrations`)
      migrated = waiting.migrate(COUNTERS)
      await holder.run(sql`select pg_sleep(0.2)`)
    })
    await migrated
    await waiting.write((connection) => connection.run(add))
  } finally {
    await Promise.all([stuck.close(), waiting.close()])
  }
})

test('PostgreSQL: the server shows which command a session is of', async () => {
  const url = await postgres.createDatabase()
  const applicationName = 'sexton start'
  const engine = openPostgres({
    url: `${url}?application_name=mine`,
    schema: 'accounts',
    applicationName,
  })
  try {
    const [row] = await engine.read(sql`
      select application_name from pg_stat_activity where pid = pg_backend_pid()`)
    assert.equal(row?.application_name, applicationName)
  } finally {
    await engine.close()
  }
})

test('PostgreSQL: a session that a pooler lends with settings of another client is refused in a line', async () => {
  const url = await postgres.createDatabase()
  const session = 'set search_path = accounts'
  const connection = new PostgresConnection({ url, session, names: new Map(), silenceMaxMs: 0 })
  await connection.open()
  try {
    await assert.rejects(connection.startSession(), /lends connections by transaction; .*[^\n]$/)
  } finally {
    await connection.close()
  }
})
