import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { countOpenClaims } from '#money/payments/claim-store.ts'
import { isLeaseHeld, type LeaseName } from '#operations/jobs/leader.ts'
import type { Readiness } from '#serving/api/health-routes.ts'
import type { GaugeReading } from '#serving/api/metrics.ts'
import type { Engine, PoolFigures } from '#store/engine.ts'
import { allJobs, type JobFacts } from '../jobs/job-list.ts'
import type { Stores } from '../stores.ts'
import { VERSION } from '../version.ts'
import { jobGauges } from './job-gauges.ts'
import { ledgerGauges } from './ledger-gauges.ts'
import { webhookGauges } from './webhook-gauges.ts'

export interface Watched {
  waitingCalls(): number
  readiness(): Promise<Readiness>
}

export interface StoreGaugeDeps extends Watched, JobFacts {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'registerReads' | 'accounts' | 'admissions'>
  readonly clock: Clock
}

/** Pools first, before the scrape itself takes connections. */
export function storeGauges(deps: StoreGaugeDeps): readonly GaugeReading[] {
  return [
    ...poolGauges(deps),
    ...queueGauges(deps),
    ...processGauges(deps),
    ...leaseGauges(deps),
    ...jobGauges({ clock: deps.clock, lists: allJobs(deps) }),
    ...paymentGauges(deps),
    ...webhookGauges(deps.stores.accounts),
    ...ledgerGauges({ engine: deps.stores.accounts, clock: deps.clock }),
  ]
}

function processGauges({ readiness }: StoreGaugeDeps): readonly GaugeReading[] {
  return [
    { name: 'sexton_info', help: '1, by version', read: async () => ({ [VERSION]: 1 }) },
    {
      name: 'sexton_ready',
      help: '1 while /readyz answers 200',
      read: async () => Number((await readiness()).ready),
    },
    {
      name: 'process_start_time_seconds',
      help: 'Start of the process, in Unix seconds',
      read: async () => performance.timeOrigin / 1_000,
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory',
      read: async () => process.memoryUsage.rss(),
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time of all threads',
      type: 'counter',
      read: async () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    },
  ]
}

function queueGauges({ waitingCalls }: StoreGaugeDeps): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_meter_waiting_calls',
      help: 'Calls that wait for a decision of the meter',
      read: async () => waitingCalls(),
    },
  ]
}

function poolGauges({ stores }: StoreGaugeDeps): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (pool: PoolFigures) => number) => ({
    name: `sexton_database_${name}`,
    help: `${help}, by store`,
    async read() {
      const pools = [
        ['accounts', stores.accounts.pool?.()],
        ['admissions', stores.admissions?.pool?.()],
        ['register', stores.register.pool?.()],
        ['register_reads', stores.registerReads?.pool?.()],
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

function leaseGauges({ stores, clock }: StoreGaugeDeps): readonly GaugeReading[] {
  const isHeld = (name: LeaseName, engine: Engine) =>
    engine.snapshot((reads) =>
      isLeaseHeld(reads, { name, dialect: engine.dialect, nowMs: clock() }),
    )
  return [
    {
      name: 'sexton_lease_held',
      help: '1 while an indexer or a verifier leads, by lease',
      async read() {
        const [index, verifier] = await Promise.all([
          isHeld('index', stores.register),
          isHeld('verifier', stores.accounts),
        ])
        return { index: Number(index), verifier: Number(verifier) }
      },
    },
  ]
}

function paymentGauges({ ecosystem, stores, clock }: StoreGaugeDeps): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  const openClaims = () =>
    stores.accounts.snapshot((reads) => countOpenClaims(reads, unixNow(clock)))
  return [
    {
      name: 'sexton_prepayments_open',
      help: 'Prepayments of the last day that wait for their transfer or its confirmations',
      read: async () => ({ open: (await openClaims()).count }),
    },
    {
      name: 'sexton_prepayments_oldest_seconds',
      help: 'Age of the oldest open prepayment',
      async read() {
        const { oldestUnix } = await openClaims()
        return { open: oldestUnix === null ? 0 : unixNow(clock) - oldestUnix }
      },
    },
    {
      name: 'sexton_deposits_unproven',
      help: 'Deposits whose proof failed so far, by chain',
      async read() {
        const found = await stores.register.snapshot((reads) => readUnproven(reads, chain.id))
        return { [chain.name]: found?.count ?? 0 }
      },
    },
  ]
}
