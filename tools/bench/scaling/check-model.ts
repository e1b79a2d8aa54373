import { chanceOf } from '#test/simulation/chance.ts'
import { costOf, replicaCpuOf } from './fit-costs.ts'
import type { Measured } from './measure-load.ts'
import { type Costs, type Deployment, type Simulated, simulate } from './simulate.ts'

/** As the benchmark runs: replicas share a core, and PostgreSQL and the load generators another one. */
const ON_TWO_CORES: Omit<Deployment, 'replicas'> = {
  shareCore: true,
  shards: 1,
  coresPerShard: 1,
  loadOnDatabase: true,
  flushes: { one: 1, several: 1 },
  exchanges: { one: 2, several: 2 },
  workFactor: 1,
  partsPerWallet: 1,
  routesByWallet: false,
}

const SECONDS = 5

/** Predicted by measured, of what a load came to; the prediction knows only the load. */
export interface Checked {
  readonly load: Measured
  readonly predicted: Simulated
  readonly ratios: Readonly<
    Record<'calls/s' | 'replica CPU' | 'database CPU' | 'WAL bytes', number>
  >
}

export function checkModel(costs: Costs, load: Measured): Checked {
  let turn = 0
  const predicted = simulate({
    deployment: { ...ON_TWO_CORES, replicas: load.replicas },
    costs,
    load: {
      arrivals: { kind: 'connections', count: load.connections },
      wallet() {
        turn += 1
        return turn % load.wallets
      },
    },
    seconds: SECONDS,
    chance: chanceOf('model'),
  })
  const batches = {
    calls: predicted.callsPerSecond,
    commits: predicted.commitsPerSecond,
    wallets: load.wallets,
  }
  const perCall = (perSecond: number, measured: number) =>
    perSecond / batches.calls / (measured / load.calls)
  return {
    load,
    predicted,
    ratios: {
      'calls/s': batches.calls / load.calls,
      'replica CPU': perCall(costOf(costs.replica, batches), replicaCpuOf(load) * 1e6),
      'database CPU': perCall(costOf(costs.database, batches), load.databaseCpu * 1e6),
      'WAL bytes': perCall(costOf(costs.wal, batches), load.walBytes),
    },
  }
}

/** What was nearest to its limit. */
export function bottleneckOf({ busy }: Simulated): string {
  const [first] = Object.entries(busy).sort(([, a], [, b]) => b - a)
  return first === undefined ? 'none' : `${first[0]} ${(100 * first[1]).toFixed(0)} %`
}
