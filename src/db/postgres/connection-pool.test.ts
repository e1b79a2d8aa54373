import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startPostgres } from '#test/postgres.ts'
import { StoreError } from '../engine.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { PostgresConnection } from './postgres-connection.ts'

const server = await startPostgres()
const url = await server.createDatabase()
after(() => server.stop())

const turn = () => new Promise((resolve) => setImmediate(resolve))

function open(connectionsMax: number, at = url) {
  const settings = { url: at, session: '', names: new Map(), silenceMaxMs: 0 }
  return new ConnectionPool({ ...settings, connectionsMax })
}

async function withPool(connectionsMax: number, work: (pool: ConnectionPool) => Promise<void>) {
  const pool = open(connectionsMax)
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}

/** Holds a connection until it is let go. */
async function hold(pool: ConnectionPool) {
  const lent = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const done = pool.use(() => {
    lent.resolve()
    return gate.promise
  })
  await lent.promise
  return () => {
    gate.resolve()
    return done
  }
}

const served = async () => 'served'

async function ask(at: string, text: string): Promise<void> {
  const client = new Client({ connectionString: at })
  await client.connect()
  await client.query(text)
  await client.end()
}

test('no more connections than allowed are lent, and each serves one piece of work at a time', () =>
  withPool(3, async (pool) => {
    const lent = new Set<PostgresConnection>()
    const seen = new Set<PostgresConnection>()
    const work = async (connection: PostgresConnection) => {
      assert.ok(!lent.has(connection))
      lent.add(connection)
      seen.add(connection)
      assert.ok(lent.size <= 3)
      await turn()
      lent.delete(connection)
    }
    await Promise.all(Array.from({ length: 30 }, () => pool.use(work)))
    assert.equal(seen.size, 3)
    const figures = { connectionsMax: 3, open: 3, inUse: 0, waiting: 0, refused: 0 }
    assert.deepEqual(pool.figures(), figures)
  }))

test('a connection that is lost while it is lent is replaced for the next that waits', () =>
  withPool(1, async (pool) => {
    const seen = new Set<PostgresConnection>()
    const die = async (connection: PostgresConnection) => {
      seen.add(connection)
      await assert.rejects(
        connection.command('select pg_terminate_backend(pg_backend_pid())'),
        StoreError,
      )
    }
    await Promise.all(Array.from({ length: 9 }, () => pool.use(die)))
    assert.equal(seen.size, 9)
    assert.equal(await pool.use(served), 'served')
  }))

test('statements get a StoreError while the server cannot be reached', async () => {
  const away = open(2, 'postgres://127.0.0.1:1/away')
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => away.use(served)))
  for (const each of results)
    assert.ok(each.status === 'rejected' && each.reason instanceof StoreError)
  assert.equal(away.figures().refused, 50)
  await away.close()
})

test('a statement that is refused a connection waits for those that are lent', () =>
  withPool(3, async (pool) => {
    const allow = (isAllowed: boolean) =>
      ask(
        server.url,
        `alter database ${new URL(url).pathname.slice(1)} allow_connections ${isAllowed}`,
      )
    const release = await hold(pool)
    await allow(false)
    try {
      const waiting = Array.from({ length: 9 }, () => pool.use(served))
      await assert.rejects(ask(url, 'select 1'), /not currently accepting connections/)
      const figures = { connectionsMax: 3, open: 1, inUse: 1, waiting: 9, refused: 0 }
      assert.deepEqual(pool.figures(), figures)
      await release()
      assert.equal((await Promise.all(waiting)).length, 9)
      assert.equal(pool.figures().refused, 0)
    } finally {
      await allow(true)
    }
  }))

test('the number of waiting statements is bounded', () =>
  withPool(1, async (pool) => {
    const release = await hold(pool)
    const waiting = Array.from({ length: 20_000 }, () => pool.use(served))
    await assert.rejects(pool.use(served), /too many statements wait/)
    await release()
    assert.equal((await Promise.all(waiting)).length, 20_000)
    assert.equal(pool.figures().refused, 1)
  }))

test('the time that a statement waits is bounded', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await withPool(1, async (pool) => {
    const release = await hold(pool)
    const waiting = pool.use(served)
    nowMs += 10_000
    t.mock.timers.tick(10_000)
    await assert.rejects(waiting, StoreError)
    assert.equal(pool.figures().refused, 1)
    await release()
  })
})

test('connections that nobody needs go back to the server, but one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await withPool(5, async (pool) => {
    const releases = await Promise.all(Array.from({ length: 5 }, () => hold(pool)))
    for (const release of releases) await release()
    t.mock.timers.tick(59_000)
    assert.equal(pool.figures().open, 5)
    t.mock.timers.tick(1_000)
    assert.equal(pool.figures().open, 1)
  })
})

test('closing waits for work in flight and for those in line, and refuses whoever comes later', async () => {
  const pool = open(1)
  const release = await hold(pool)
  const second = pool.use(served)
  const closed = pool.close()
  await assert.rejects(pool.use(served), StoreError)
  await release()
  assert.equal(await second, 'served')
  await closed
  await pool.close()
  assert.equal(pool.figures().open, 0)
})

test('closing ends what does not end by itself', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const pool = open(1)
  await pool.use(served)
  const stuck = assert.rejects(
    pool.use((connection) => connection.command('select pg_sleep(60)')),
    StoreError,
  )
  const waiting = assert.rejects(pool.use(served), StoreError)
  await turn()
  const closed = pool.close()
  t.mock.timers.tick(5_000)
  await Promise.all([stuck, closed])
  t.mock.timers.tick(5_000)
  await waiting
})
