import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startPostgres } from '#test/postgres.ts'
import { startStandby } from '#test/standby.ts'
import { eventually } from '#test/world.ts'
import { column } from '../row.ts'
import { sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'

test('an old primary is refused by a process that knows the new one, or can reach it at its start', async () => {
  const old = await startPostgres({ own: true })
  after(() => old.stop())
  const url = await old.createDatabase()
  const standby = await startStandby(old)
  after(() => standby.stop())
  const [oldHost, newHost] = [new URL(url).host, new URL(standby.url).host]
  const at = (hosts: string) => url.replace(oldHost, hosts)
  const both = openPostgres({ url: at(`${oldHost},${newHost}`), schema: 'register' })
  await both.migrate([{ id: 1, name: 'rows', sql: 'create table counted (id bigint)' }])
  const count = (id: number) => both.write((tx) => tx.run(sql`insert into counted values (${id})`))
  await count(1)

  const client = new Client({ connectionString: at(newHost) })
  await client.connect()
  await eventually(async () => {
    const { rows } = await client
      .query('select id from register.counted')
      .catch(() => ({ rows: [] }))
    return rows.length > 0 || undefined
  }, 10_000)
  await client.query('select pg_promote()')
  const late = openPostgres({ url: at(`${oldHost},${newHost}`), schema: 'register' })
  await late.write((tx) => tx.run(sql`insert into counted values (2)`))
  const { rows } = await client.query('select id from register.counted order by id')
  assert.deepEqual(
    rows.map(({ id }) => Number(id)),
    [1, 2],
    'it chose the new one',
  )

  await client.end()
  await standby.stop()
  await eventually(async () => {
    const failure = await late
      .write((tx) => tx.run(sql`insert into counted values (3)`))
      .then(
        () => assert.fail('it counted at the old primary'),
        (error: Error) => error.message,
      )
    return /an old primary: its timeline 1 is behind 2/.test(failure) || undefined
  }, 10_000)
  const alone = openPostgres({ url, schema: 'register' })
  const [row] = await alone.read(sql`select count(*) as all_rows from counted`)
  assert.equal(row && column.integer(row, 'all_rows'), 1)
  await Promise.all([both.close(), late.close(), alone.close()])
})
