import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startPostgres } from '#test/postgres.ts'
import { eventually } from '#test/world.ts'
import { StoreError } from '../engine.ts'
import { sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'

const server = await startPostgres({ own: true })
after(() => server.stop())

test('a commit whose standby was not waited for is not acknowledged', async () => {
  const url = await server.createDatabase()
  const operator = new Client({ connectionString: url })
  await operator.connect()
  await operator.query(
    `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = on`,
  )
  const engine = openPostgres({ url, schema: 'register' })
  await engine.migrate([{ id: 1, name: 'rows', sql: 'create table counted (id bigint)' }])
  const insert = () => engine.write((tx) => tx.run(sql`insert into counted values (1)`))
  try {
    await operator.query(`alter system set synchronous_standby_names = 'away'`)
    await operator.query('select pg_reload_conf()')
    await eventually(async () => {
      const { rows } = await operator.query('show synchronous_standby_names')
      return rows[0].synchronous_standby_names === 'away' || undefined
    }, 10_000)
    let isWaiting = false
    const written = insertUntil(insert, () => isWaiting)
    const pid = await eventually(async () => {
      const { rows } = await operator.query(
        `select pid from pg_stat_activity where wait_event = 'SyncRep'`,
      )
      return rows[0]?.pid
    }, 10_000)
    isWaiting = true
    await operator.query('select pg_cancel_backend($1)', [pid])
    const outcome = await written
    assert.ok(outcome instanceof StoreError, String(outcome))
    assert.match(outcome.message, /may not have reached the standby/)
  } finally {
    await operator.query('alter system reset synchronous_standby_names')
    await operator.query('select pg_reload_conf()')
    await operator.end()
  }
  await eventually(() => insert().then(() => true), 10_000)
  await engine.close()
})

/** Another process of the server reads the setting too, and commits do not wait before it has. */
async function insertUntil(
  insert: () => Promise<unknown>,
  isWaiting: () => boolean,
): Promise<unknown> {
  for (;;) {
    const outcome = await insert().then(
      () => 'acknowledged',
      (error: unknown) => error,
    )
    if (outcome !== 'acknowledged' || isWaiting()) return outcome
  }
}
