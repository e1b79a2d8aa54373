import type { GaugeReading } from '#serving/api/metrics.ts'
import type { Engine, PoolFigures } from '#store/engine.ts'

export interface WatchedStores {
  readonly register: Engine
  readonly accounts: Engine
  readonly admissions?: Engine | undefined
}

export function poolGauges({
  stores,
}: {
  readonly stores: WatchedStores
}): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (pool: PoolFigures) => number) => ({
    name: `sexton_database_${name}`,
    help: `${help}, by store`,
    async read() {
      const pools = [
        ['accounts', stores.accounts.pool?.()],
        ['admissions', stores.admissions?.pool?.()],
        ['register', stores.register.pool?.()],
      ] as const
      return Object.fromEntries(
        pools.flatMap(([store, pool]) => (pool === undefined ? [] : [[store, pick(pool)]])),
      )
    },
  })
  return [
    gauge('connections_max', 'Most connections to PostgreSQL', (pool) => pool.connectionsMax),
    gauge('connections_open', 'Connections to PostgreSQL', (pool) => pool.open),
    gauge('connections_in_use', 'Connections with work', (pool) => pool.inUse),
    gauge('waiting', 'Statements that wait for a connection', (pool) => pool.waiting),
    {
      ...gauge('refused_total', 'Statements that got no connection', (pool) => pool.refused),
      type: 'counter',
    },
  ]
}
