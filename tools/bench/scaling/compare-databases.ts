import { Command } from 'commander'
import { readNumber } from '#test/program-options.ts'
import { type Chance, chanceOf } from '#test/simulation/chance.ts'
import { bottleneckOf } from './check-model.ts'
import { type Costs, type Deployment, simulate } from './simulate.ts'

interface Options {
  readonly seconds: number
  readonly perDay: number
  readonly seed: string
}

const values = new Command('node tools/bench/scaling/compare-databases.ts')
  .description(
    'Simulates ten billion calls a day over a hundred replicas, on one PostgreSQL and on several kinds of databases that spread wallets over servers; at the average rate and at twice of it. The same seed gives the same figures.',
  )
  .option('--seconds <seconds>', 'of simulated time', readNumber, 4)
  .option('--per-day <calls>', 'calls a day', readNumber, 10_000_000_000)
  .option('--seed <seed>', 'of arrivals and wallets', '1')
  .parse()
  .opts<Options>()

/** Processor costs as measured (tools/bench/measurements.md); times of a network and of disks that survive power loss. */
const COSTS: Costs = {
  replica: { perCall: 21, perBatch: 518, perWallet: 16 },
  database: { perCall: 0, perBatch: 344, perWallet: 9 },
  loadPerCall: 0,
  wal: { perCall: 0, perBatch: 241, perWallet: 113 },
  walBytesPerSecond: 200_000_000,
  flushMs: 1,
  roundTripMs: 0.5,
}

const WALLETS = 1_000_000

const POSTGRES: Deployment = {
  replicas: 100,
  shareCore: false,
  shards: 1,
  coresPerShard: 32,
  loadOnDatabase: false,
  flushes: { one: 1, several: 1 },
  exchanges: { one: 2, several: 2 },
  workFactor: 1,
  partsPerWallet: 1,
  routesByWallet: false,
}

/** Two-phase commit: each server prepares and commits, with a flush for each. */
const CITUS: Deployment = {
  ...POSTGRES,
  shards: 10,
  coresPerShard: 8,
  flushes: { one: 1, several: 2 },
  exchanges: { one: 3, several: 5 },
}

/** A majority of three copies writes each row; a transaction on several of them needs a second round. */
const CONSENSUS: Deployment = {
  ...CITUS,
  exchanges: { one: 3, several: 4 },
  workFactor: 3,
}

const DEPLOYMENTS: Readonly<Record<string, Deployment>> = {
  PostgreSQL: POSTGRES,
  'PostgreSQL, 16 counters a wallet': { ...POSTGRES, partsPerWallet: 16 },
  'PostgreSQL, callers routed by wallet': { ...POSTGRES, routesByWallet: true },
  'Citus, 10 workers': CITUS,
  'Citus, callers routed by wallet': { ...CITUS, routesByWallet: true },
  'consensus, 10 nodes': CONSENSUS,
  'consensus, callers routed by wallet': { ...CONSENSUS, routesByWallet: true },
}

const perSecond = values.perDay / 86_400
process.stdout.write('deployment: arrivals/s, answered/s, commits/s, p50 ms, p99 ms, busiest\n')
for (const times of [1, 2])
  for (const [name, deployment] of Object.entries(DEPLOYMENTS)) {
    const chance = chanceOf(values.seed)
    const result = simulate({
      deployment,
      costs: COSTS,
      load: {
        arrivals: { kind: 'rate', perSecond: perSecond * times },
        wallet: zipf(WALLETS, chance.apart('wallets')),
      },
      seconds: values.seconds,
      chance,
    })
    const figures = [
      perSecond * times,
      result.callsPerSecond,
      result.commitsPerSecond,
      result.p50Ms,
      result.p99Ms,
    ].map((each) => each.toFixed(0))
    process.stdout.write(`${name}: ${figures.join(', ')}, ${bottleneckOf(result)}\n`)
  }

/** The n-th wallet calls an n-th as often as the first, which makes a fourteenth of all calls. */
function zipf(count: number, chance: Chance): () => number {
  const sums = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank += 1) {
    sum += 1 / (rank + 1)
    sums[rank] = sum
  }
  return () => {
    const wanted = chance.next() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}
