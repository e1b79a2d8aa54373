import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { type Ask, AskRefused } from '#api/examples.ts'
import { refuse } from '#base/refusal.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { testContext } from '#test/test-context.ts'
import { type Snapshot, sharedSnapshot } from './snapshot.ts'

const DAY = 86_400
const chainMeta = { chain: 'base', status: 'live', blockTimeUnix: 990, lagSeconds: 10 }
const meta = { stale: false, chains: [chainMeta] }

interface Row {
  readonly id: string
  readonly timestampUnix: number
}

describe('the snapshot', () => {
  const notReady = () => {
    throw new AskRefused(refuse('data_not_ready', 'not yet'))
  }
  const days = [0, 1].map((day) => ({ dateUnix: day * DAY, burned: '1', cumulative: '2' }))
  const points = [
    { dateUnix: 0, value: 7 },
    { dateUnix: DAY, value: 8 },
  ]
  let nowMs: number
  let asked: string[]
  let answers: Record<string, (query: Readonly<Record<string, string>>) => unknown>
  let snapshot: () => Promise<Snapshot>
  const later = (seconds: number) => {
    nowMs += seconds * 1_000
    return snapshot()
  }

  beforeEach(() => {
    nowMs = 1_000_000
    asked = []
    answers = {
      getMeta: () => ({ service: 'Sexton' }),
      getStats: () => ({ data: {}, meta }),
      getBurnTotals: () => ({ data: {}, meta }),
      getDailyBurns: () => ({ data: days }),
      getStatsHistory: () => ({ data: { points } }),
      rankGraveDiggers: () => ({ data: [{ digger: 1 }] }),
      listHolders: () => ({ data: [{ rank: 1 }] }),
      listBurns: () => ({ data: [{ id: 'burn', timestampUnix: 0 }] }),
      listPayouts: () => ({ data: [{ id: 'payout', timestampUnix: 1 }] }),
      listGraveDigs: () => ({ data: [{ id: 'dig', timestampUnix: 2 }] }),
    }
    const ask: Ask = async (operationId, query = {}) => {
      asked.push(operationId)
      return answers[operationId]?.(query) ?? { data: [] }
    }
    const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')
    snapshot = sharedSnapshot(testContext({ ecosystem, clock: () => nowMs }), ask, 20)
  })

  test('is there before the index is, without figures', async () => {
    answers.getStats = notReady
    const { figures, readable } = await snapshot()
    assert.equal(figures, null)
    assert.equal(readable, true)
  })

  test('is built once for everyone, and again after five seconds', async () => {
    const [one, other] = await Promise.all([snapshot(), snapshot()])
    assert.equal(one, other)
    assert.equal(await later(4), one)
    assert.notEqual(await later(1), one)
    assert.equal(asked.filter((name) => name === 'getStats').length, 2)
  })

  test('keeps the last figures and their time while the register fails, and calls them stale after a minute', async () => {
    const { figures } = await snapshot()
    answers.getBurnTotals = () => {
      throw new Error('the register cannot be read')
    }
    const soon = await later(59)
    assert.equal(soon.figures, figures)
    assert.equal(soon.madeUnix, 1_000)
    assert.equal(soon.readable, false)
    const late = await later(5)
    assert.equal(late.madeUnix, 1_000)
    const chains = [{ ...chainMeta, status: 'stale', lagSeconds: 74 }]
    assert.deepEqual(late.figures?.meta, { stale: true, chains })
    answers.getBurnTotals = () => ({ data: {}, meta })
    const again = await later(5)
    assert.deepEqual(again.figures?.meta, meta)
    assert.equal(again.madeUnix, 1_069)
    assert.equal(again.readable, true)
  })

  test('has empty parts for what was never read, on days that fit together', async () => {
    answers.listGraveDigs = notReady
    answers.getStatsHistory = ({ metric }) => {
      if (metric === 'price')
        throw new AskRefused(refuse('invalid_parameter', 'no price is configured'))
      return metric === 'holders' ? notReady() : { data: { points: points.slice(1) } }
    }
    answers.getDailyBurns = ({ chain }) => (chain === 'base' ? notReady() : { data: days })
    const { figures } = await snapshot()
    assert.deepEqual(
      figures?.newest.map((each) => (each as Row).id),
      ['payout', 'burn'],
    )
    const { metrics, burned, burnedInAll } = figures?.series ?? {}
    assert.deepEqual([metrics?.price, metrics?.holders, metrics?.supply], [[], [], [null, 8]])
    assert.deepEqual(
      [burned?.base, burnedInAll],
      [
        [null, null],
        [2, 2],
      ],
    )
  })

  test('starts no second build while the store hangs, and shows the first when it comes', async () => {
    const stats = Promise.withResolvers<unknown>()
    answers.getStats = () => stats.promise
    for (let builds = 0; builds < 3; builds += 1) {
      const { figures, readable } = await later(5)
      assert.equal(figures, null)
      assert.equal(readable, false)
    }
    assert.equal(asked.filter((name) => name === 'getStats').length, 1)
    stats.resolve({ data: {}, meta })
    answers.getStats = () => new Promise(() => undefined)
    await new Promise(setImmediate)
    assert.equal((await later(5)).madeUnix, 1_005)
  })
})
