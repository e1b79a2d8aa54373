import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerCache, type Question } from '#data/data-route.ts'
import { sql } from '#db/sql.ts'
import { answer } from '#route.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { registerMigrations } from './datasets.ts'

interface World {
  nowMs: number
  /** Answers made. */
  made: number
  readonly cache: AnswerCache
  /** The index reads up to this block. */
  reach(number: number): Promise<void>
  ask(parameters: string, more?: Partial<Question>): Promise<unknown>
}

const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')

/** Answers say which block they show, how often one was made before, and what was asked. */
function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  return onSqlite(registerMigrations, async ({ engine }) => {
    const clock = () => world.nowMs
    const cache = new AnswerCache(testContext({ register: engine, ecosystem, clock }))
    const world: World = {
      nowMs: 1_795_262_400_000,
      made: 0,
      cache,
      reach: (number) =>
        engine.write(async (tx) => {
          await tx.run(sql`delete from positions`)
          await tx.run(sql`
            insert into positions (chain_id, number, hash, timestamp_unix,
              head_number, safe_number, finalized_number)
            values (8453, ${number}, '0x', 1700000000, ${number}, 0, 0)`)
        }),
      async ask(parameters, more) {
        const question = { operationId: 'getThing', parameters, representation: 'json' } as const
        const outcome = await cache.answer({ ...question, ...more }, async ({ status }) => {
          world.made += 1
          return answer(200, `${status.chains[0]?.blockNumber} ${world.made} ${parameters}`)
        })
        return outcome.kind === 'answer' ? outcome.body : outcome.code
      },
    }
    await work(world)
  })
}

test('one question about one state is answered once, also when many ask at the same moment', () =>
  inWorld(async (world) => {
    assert.equal(await world.ask('a'), 'data_not_ready')
    world.cache.forgetState()
    await world.reach(1)
    assert.deepEqual(await Promise.all([world.ask('a'), world.ask('a')]), ['1 1 a', '1 1 a'])
    assert.deepEqual(await Promise.all([world.ask('b'), world.ask('b')]), ['1 2 b', '1 2 b'])
    assert.equal(await world.ask('a'), '1 1 a')
  }))

test('no answer shows an older block than the one before it', () =>
  inWorld(async (world) => {
    await world.reach(191)
    await world.ask('total')
    await world.reach(255)
    assert.equal(await world.ask('history'), '255 2 history')
    assert.equal(await world.ask('total'), '255 3 total')
    assert.equal((await world.cache.state())?.status.chains[0]?.blockNumber, 255)
  }))

test('a failure is not kept', () =>
  inWorld(async (world) => {
    await world.reach(1)
    const question = { operationId: 'getThing', parameters: 'a', representation: 'json' } as const
    const failing = () => world.cache.answer(question, () => Promise.reject(new Error('away')))
    await assert.rejects(failing())
    await assert.rejects(failing())
    assert.equal(await world.ask('a'), '1 1 a')
  }))

test('answers of many questions are bounded in bytes', () =>
  inWorld(async (world) => {
    await world.reach(1)
    const long = 'ä series of ten years '.repeat(100_000)
    for (let days = 3_000; days < 3_040; days += 1) await world.ask(`${long}${days}`)
    const { made } = world
    await world.ask(`${long}3039`)
    assert.equal(world.made, made)
    await world.ask(`${long}3000`)
    assert.equal(world.made, made + 1)
  }))
