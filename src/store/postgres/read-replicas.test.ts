import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { sleep } from '#lib/sleep.ts'
import { startPostgres } from '#test/postgres.ts'
import { startStandby } from '#test/standby.ts'
import { eventually } from '#test/world.ts'
import { type Engine, StoreError } from '../engine.ts'
import { column } from '../row.ts'
import { sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'
import { readFromStandbys } from './read-replicas.ts'

const primary = await startPostgres({ own: true })
const url = await primary.createDatabase()
const writer = openPostgres({ url, schema: 'register' })
await writer.migrate([{ id: 1, name: 'heights', sql: 'create table heights (height bigint)' }])
await writer.write((tx) => tx.run(sql`insert into heights values (0)`))
const servers = [await startStandby(primary), await startStandby(primary)]
const urls = servers.map((server) => url.replace(new URL(url).host, new URL(server.url).host))
after(async () => {
  await writer.close()
  for (const each of servers) await each.stop()
  await primary.stop()
})

const raise = () => writer.write((tx) => tx.run(sql`update heights set height = height + 1`))

async function heightOf(engine: Engine): Promise<number> {
  const [row] = await engine.read(sql`select height from heights`)
  return row === undefined ? -1 : column.integer(row, 'height')
}

const isReplica = async (engine: Engine) =>
  (await engine.read(sql`select pg_is_in_recovery() as yes`))[0]?.yes === true

async function replay(server: string, what: 'pause' | 'resume'): Promise<void> {
  const client = new Client({ connectionString: server })
  await client.connect()
  await client.query(`select pg_wal_replay_${what}()`)
  await client.end()
}

function open(lagMaxMs = 60_000) {
  const standbys = urls.map((each) => openPostgres({ url: each, schema: 'register' }))
  return readFromStandbys({ primary: writer, standbys, lagMaxMs })
}

test('reads come from a standby, and never go backwards while standbys stop and go on', async () => {
  const reads = open()
  let newest = 0
  let fromReplicas = 0
  try {
    for (let round = 0; round < 60; round += 1) {
      const standby = servers[round % 2]
      if (round % 10 === 3 && standby !== undefined) await replay(standby.url, 'pause')
      if (round % 10 === 8 && standby !== undefined)
        for (const each of servers) await replay(each.url, 'resume')
      await raise()
      await sleep(20)
      const seen = await Promise.all(
        Array.from({ length: 4 }, () =>
          reads.snapshot(async (connection) => {
            const [row] = await connection.run(
              sql`select height, pg_is_in_recovery() as standby from heights`,
            )
            return row
          }),
        ),
      )
      for (const row of seen) {
        assert.ok(row !== undefined)
        fromReplicas += row.standby === true ? 1 : 0
      }
      const heights = seen.map((row) => (row === undefined ? 0 : column.integer(row, 'height')))
      // Those at once may differ; none is older than any that was answered before they were asked.
      assert.ok(Math.min(...heights) >= newest, `${heights} after ${newest}`)
      newest = Math.max(...heights)
    }
    assert.ok(fromReplicas > 20, `${fromReplicas} of 240 came from a standby`)
  } finally {
    for (const each of servers) await replay(each.url, 'resume')
    await reads.close()
  }
})

test('when a standby is lost, another that is behind what it answered is not read', async () => {
  const [first, second] = urls.map((each) => openPostgres({ url: each, schema: 'register' }))
  assert.ok(first !== undefined && second !== undefined)
  let isLost = false
  const losing: Engine = {
    ...first,
    snapshot: (work) =>
      isLost ? Promise.reject(new StoreError('connection lost')) : first.snapshot(work),
  }
  const standbys = [losing, second]
  const reads = readFromStandbys({ primary: writer, standbys, lagMaxMs: 60_000 })
  try {
    await replay(servers[1]?.url ?? '', 'pause')
    await raise()
    const height = await heightOf(writer)
    await eventually(async () => ((await heightOf(reads)) === height ? true : undefined), 10_000)
    assert.ok(await isReplica(reads))
    isLost = true
    assert.equal(await heightOf(reads), height)
    assert.equal(await isReplica(reads), false)
  } finally {
    await replay(servers[1]?.url ?? '', 'resume')
    await reads.close()
  }
})

test('a standby beyond the lag is left for the primary, and taken again when it has caught up', async () => {
  const reads = open(500)
  // The lag of a standby grows while nothing is written.
  const untilTaken = () =>
    eventually(async () => {
      await raise()
      return (await isReplica(reads)) || undefined
    }, 10_000)
  try {
    await untilTaken()
    for (const each of servers) await replay(each.url, 'pause')
    await eventually(async () => ((await isReplica(reads)) ? undefined : true), 10_000)
    await raise()
    assert.equal(await heightOf(reads), await heightOf(writer))
    for (const each of servers) await replay(each.url, 'resume')
    await untilTaken()
  } finally {
    await reads.close()
  }
})

test('a standby that dies delays nobody for longer than one attempt', async () => {
  const dead = openPostgres({
    url: url.replace(new URL(url).host, '127.0.0.1:1'),
    schema: 'register',
  })
  const reads = readFromStandbys({ primary: writer, standbys: [dead], lagMaxMs: 60_000 })
  try {
    assert.equal(await heightOf(reads), await heightOf(writer))
  } finally {
    await reads.close()
  }
})
