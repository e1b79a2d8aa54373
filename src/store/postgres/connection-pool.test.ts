import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '../engine.ts'
import { ConnectionPool, type Lendable } from './connection-pool.ts'

/** A server of the mind: connections open while it is up. */
class World {
  isUp = true
  readonly made: Fake[] = []

  pool(connectionsMax: number) {
    const create = () => {
      const made = new Fake(this)
      this.made.push(made)
      return made
    }
    return new ConnectionPool<Fake>({ connectionsMax, create })
  }

  living(): number {
    return this.made.filter((each) => each.isUsable).length
  }
}

class Fake implements Lendable {
  isUsable = false
  readonly destroyed = Promise.withResolvers<never>()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.destroyed.promise.catch(() => undefined)
  }

  async open() {
    await Promise.resolve()
    if (!this.#world.isUp) throw new StoreError('down')
    this.isUsable = true
  }

  async end() {
    this.isUsable = false
  }

  destroy() {
    this.isUsable = false
    this.destroyed.reject(new StoreError('destroyed'))
  }
}

test('no more connections than allowed are lent, and each serves one piece of work at a time', async () => {
  const world = new World()
  const pool = world.pool(3)
  const lent = new Set<Fake>()
  const work = async (connection: Fake) => {
    assert.ok(!lent.has(connection))
    lent.add(connection)
    assert.ok(lent.size <= 3)
    await new Promise((resolve) => setImmediate(resolve))
    lent.delete(connection)
  }
  await Promise.all(Array.from({ length: 30 }, () => pool.use(work)))
  assert.equal(world.made.length, 3)
})

test('a connection that is lost while it is lent is replaced for whoever waits', async () => {
  const world = new World()
  const pool = world.pool(2)
  const served = await Promise.all(
    Array.from({ length: 9 }, () =>
      pool.use(async (connection) => {
        assert.ok(connection.isUsable)
        connection.isUsable = false
      }),
    ),
  )
  assert.equal(served.length, 9)
  assert.equal(world.made.length, 9)
})

test('a connection that is lost while nobody uses it is never lent', async () => {
  const world = new World()
  const pool = world.pool(1)
  await pool.use(async (connection) => connection)
  for (const each of world.made) each.isUsable = false
  assert.equal(await pool.use(async (connection) => connection.isUsable), true)
})

test('nobody waits for a server that cannot be reached, and the next is served once it can', async () => {
  const world = new World()
  world.isUp = false
  const pool = world.pool(2)
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, () => pool.use(async () => undefined)),
  )
  assert.ok(results.every((each) => each.status === 'rejected'))
  assert.equal(world.made.length, 2)
  world.isUp = true
  assert.equal(await pool.use(async () => 'served'), 'served')
})

test('who is refused a connection waits for those that are lent, and asks for no more for a second', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const world = new World()
  const pool = world.pool(3)
  const lent = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const holder = pool.use(async () => {
    lent.resolve()
    await gate.promise
  })
  await lent.promise
  world.isUp = false
  const waiting = [pool.use(async () => 'first'), pool.use(async () => 'second')]
  await new Promise((resolve) => setImmediate(resolve))
  waiting.push(pool.use(async () => 'third'))
  assert.equal(world.made.length, 3, 'two were refused, and a third was not asked for')
  assert.equal(pool.figures().waiting, 3)
  world.isUp = true
  nowMs += 1_000
  waiting.push(pool.use(async () => 'fourth'))
  assert.equal(world.made.length, 4)
  assert.equal(await waiting.pop(), 'fourth')
  gate.resolve()
  await holder
  assert.deepEqual(await Promise.all(waiting), ['first', 'second', 'third'])
  assert.equal(pool.figures().refused, 0)
})

test('who waits gets a connection once the server has one, though none of those lent returns', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const world = new World()
  const pool = world.pool(2)
  const lent = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const holder = pool.use(async () => {
    lent.resolve()
    await gate.promise
  })
  await lent.promise
  world.isUp = false
  const waiting = pool.use(async () => 'served')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(pool.figures().waiting, 1)
  world.isUp = true
  nowMs += 1_000
  t.mock.timers.tick(1_000)
  assert.equal(await waiting, 'served')
  gate.resolve()
  await holder
})

test('connections that nobody needs go back to the server, but one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const world = new World()
  const pool = world.pool(5)
  const work = () => pool.use(() => new Promise((resolve) => setImmediate(resolve)))
  await Promise.all(Array.from({ length: 5 }, work))
  const pass = (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
  }
  pass(30_000)
  await Promise.all(Array.from({ length: 2 }, work))
  pass(29_000)
  assert.equal(world.living(), 5)
  pass(2_000)
  assert.equal(world.living(), 2, 'those that were used meanwhile stay')
  pass(60_000)
  assert.equal(world.living(), 1)
})

test('closing waits for work in flight and for those in line, and refuses whoever comes later', async () => {
  const world = new World()
  const pool = world.pool(1)
  const gate = Promise.withResolvers<string>()
  const first = pool.use(() => gate.promise)
  const second = pool.use(async () => 'second')
  const closed = pool.close()
  await assert.rejects(
    pool.use(async () => undefined),
    StoreError,
  )
  gate.resolve('first')
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second'])
  await closed
  await pool.close()
  assert.equal(world.living(), 0)
})

test('closing ends what does not end by itself', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const world = new World()
  const pool = world.pool(1)
  const stuck = assert.rejects(
    pool.use((connection) => connection.destroyed.promise),
    /destroyed/,
  )
  const waiting = assert.rejects(
    pool.use(async () => undefined),
    /closed/,
  )
  await new Promise((resolve) => setImmediate(resolve))
  const closed = pool.close()
  t.mock.timers.tick(5_000)
  await Promise.all([stuck, waiting, closed])
})
