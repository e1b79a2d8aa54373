import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '#test/postgres.ts'
import { StoreError } from '../engine.ts'
import { ConnectionPool } from './connection-pool.ts'

const server = await startPostgres()
const url = await server.createDatabase()
after(() => server.stop())

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
