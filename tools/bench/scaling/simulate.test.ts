import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chanceOf } from '#test/simulation/chance.ts'
import { type Costs, type Deployment, type Simulated, simulate } from './simulate.ts'

const COSTS: Costs = {
  replica: { perCall: 25, perBatch: 500, perWallet: 10 },
  database: { perCall: 0, perBatch: 400, perWallet: 10 },
  loadPerCall: 0,
  wal: { perCall: 0, perBatch: 260, perWallet: 105 },
  walBytesPerSecond: 200_000_000,
  flushMs: 1,
  roundTripMs: 0.5,
}

const ONE_SERVER: Deployment = {
  replicas: 10,
  shareCore: false,
  shards: 1,
  coresPerShard: 16,
  loadOnDatabase: false,
  flushes: { one: 1, several: 2 },
  exchanges: { one: 2, several: 4 },
  workFactor: 1,
  partsPerWallet: 1,
  routesByWallet: false,
}

function run(
  more: Partial<Deployment>,
  input: { perSecond?: number; seed?: string } = {},
): Simulated {
  const chance = chanceOf(input.seed ?? '1')
  const wallets = chance.apart('wallets')
  return simulate({
    deployment: { ...ONE_SERVER, ...more },
    costs: COSTS,
    load: {
      arrivals: { kind: 'rate', perSecond: input.perSecond ?? 10_000 },
      // A tenth of all calls are of one wallet.
      wallet: () => (wallets.happens(0.1) ? 0 : wallets.integer(1, 100_000)),
    },
    seconds: 2,
    chance,
  })
}

test('the same seed gives the same figures, and another seed others', () => {
  assert.deepEqual(run({}), run({}))
  assert.notDeepEqual(run({}), run({}, { seed: '2' }))
})

test('every call that arrives is answered, waits or is in a batch under way', () => {
  for (const perSecond of [1_000, 10_000, 100_000]) {
    const { arrived, calls, waiting } = run({}, { perSecond })
    const underWay = arrived - calls - waiting
    assert.ok(underWay >= 0 && underWay <= 10 * 256 + 50, `${underWay} of ${arrived}`)
    assert.ok(Math.abs(arrived / 2 - perSecond) < 0.1 * perSecond)
  }
})

test('row locks of a hot wallet hold replicas up, unless its calls come to one replica', () => {
  const [spread, routed] = [run({}), run({ routesByWallet: true })]
  assert.ok(spread.busy.locks > 0.3, `${spread.busy.locks}`)
  assert.ok(routed.busy.locks < 0.01, `${routed.busy.locks}`)
  assert.ok(spread.p99Ms > 2 * routed.p99Ms)
})

test('a transaction on several servers takes longer than on one', () => {
  const routed = { routesByWallet: true }
  const [one, several] = [run(routed), run({ ...routed, shards: 7 })]
  assert.ok(several.p50Ms > one.p50Ms + COSTS.flushMs / 2, `${several.p50Ms} ${one.p50Ms}`)
})

test('with less work than one core can do, throughput is what arrives; with more, what it can do', () => {
  const one = { replicas: 1, coresPerShard: 1 }
  const calm = run(one, { perSecond: 200 })
  assert.ok(Math.abs(calm.callsPerSecond - calm.arrived / 2) < 5)
  // 25 us for each call, and 500 + 256 * 10 us for a full batch: about 27,000 a second at most.
  const full = run(one, { perSecond: 60_000 })
  assert.ok(full.callsPerSecond > 20_000 && full.callsPerSecond < 29_000, `${full.callsPerSecond}`)
  assert.ok(full.busy.replica > 0.9, `${full.busy.replica}`)
})
