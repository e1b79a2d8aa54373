import type { GaugeReading } from '#serving/api/metrics.ts'
import type { Engine } from '#store/engine.ts'

export interface WatchedStores {
  readonly register: Engine
  readonly accounts: Engine
  readonly admissions?: Engine | undefined
}

export function poolGauge({ stores }: { readonly stores: WatchedStores }): GaugeReading {
  return {
    name: 'sexton_database_waiting',
    help: 'Statements that wait for a connection, by store',
    async read() {
      const { accounts, admissions, register } = stores
      const pools = Object.entries({ accounts, admissions, register }).map(
        ([store, engine]) => [store, engine?.pool?.()] as const,
      )
      return Object.fromEntries(
        pools.flatMap(([store, pool]) => (pool === undefined ? [] : [[store, pool.waiting]])),
      )
    },
  }
}
