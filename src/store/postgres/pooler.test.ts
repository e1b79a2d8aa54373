import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startPgbouncer } from '#test/pgbouncer.ts'
import { startPostgres } from '#test/postgres.ts'
import { type Migration, StoreError } from '../engine.ts'
import { sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'

const server = await startPostgres()
after(() => server.stop())

const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: 'marks', sql: 'create table marks (part bigint primary key)' },
]

test('a pooler of transactions is refused in a line', async () => {
  const url = await server.createDatabase()
  const pooler = await startPgbouncer({ url, mode: 'transaction' })
  const engine = openPostgres({ url: pooler.url, schema: 'accounts' })
  try {
    await engine.migrate(MIGRATIONS)
    await assert.rejects(engine.read(sql`select part from marks`), (error) => {
      assert.ok(error instanceof StoreError)
      assert.match(error.message, /pool_mode = session/)
      assert.doesNotMatch(error.message, /\n/)
      return true
    })
  } finally {
    await engine.close()
    await pooler.stop()
  }
})

test('behind a pooler of sessions with fewer connections than ours all work is done, in our schema', async () => {
  const url = await server.createDatabase()
  const settings = ['default_pool_size = 3', 'query_wait_timeout = 1']
  const pooler = await startPgbouncer({ url, mode: 'session', settings })
  const engine = openPostgres({ url: pooler.url, schema: 'accounts', connectionsMax: 8 })
  try {
    await engine.migrate(MIGRATIONS)
    const parts = Array.from({ length: 200 }, (_, part) => part)
    await Promise.all(
      parts.map((part) =>
        engine.write(async (connection) => {
          await connection.run(sql`insert into marks (part) values (${part})`)
          await connection.run(sql`select pg_sleep(0.01)`)
        }),
      ),
    )
    const [row] = await engine.read(sql`select count(*) as parts from marks`)
    assert.equal(row?.parts, 200)
    assert.deepEqual(await tablesOf(url), ['accounts.marks', 'accounts.migrations'])
    assert.equal(engine.pool?.().refused, 0)
  } finally {
    await engine.close()
    await pooler.stop()
  }
})

async function admin(url: string, text: string): Promise<readonly Record<string, string>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Of every schema that is not the server's own. */
async function tablesOf(url: string): Promise<readonly (string | undefined)[]> {
  const tables = await admin(
    url,
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  )
  return tables.map(({ name }) => name)
}
