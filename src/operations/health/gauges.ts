import type { Readiness } from '#api/health-routes.ts'
import type { GaugeReading } from '#api/metrics.ts'
import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import type { Engine } from '#store/engine.ts'
import {
  anomalyGauge,
  endpointGauges,
  type IndexGaugeDeps,
  registerGauges,
} from './index-gauges.ts'
import { type JobGaugeDeps, jobGauges } from './job-gauges.ts'
import { ledgerGauges } from './ledger-gauges.ts'
import { type SettlingGaugeDeps, settlingGauges } from './settling-gauges.ts'

interface WatchedStores {
  readonly register: Engine
  readonly accounts: Engine
  readonly admissions?: Engine | undefined
}

interface ProcessGaugeDeps {
  waitingCalls(): number
  readiness(): Promise<Readiness>
}

export interface GaugeDeps extends IndexGaugeDeps, JobGaugeDeps, ProcessGaugeDeps {
  readonly stores: WatchedStores
  /** Undefined where x402 payments are not settled. */
  readonly settling: SettlingGaugeDeps | undefined
}

/** The gauges of a process that serves the API. Pools come first, before the scrape takes connections. */
export function gaugesOf(deps: GaugeDeps): readonly GaugeReading[] {
  return [
    poolGauge(deps),
    ...processGauges(deps),
    ...jobGauges(deps),
    ...paymentGauges(deps),
    ...ledgerGauges({ engine: deps.stores.accounts, clock: deps.clock }),
    ...registerGauges(deps),
    anomalyGauge(deps),
    ...endpointGauges(deps),
    ...settlingGauges(deps.settling),
  ]
}

function poolGauge({ stores }: { readonly stores: WatchedStores }): GaugeReading {
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

function processGauges(deps: ProcessGaugeDeps): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_ready',
      help: '1 while /readyz answers 200',
      read: async () => Number((await deps.readiness()).ready),
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
    {
      name: 'sexton_meter_waiting_calls',
      help: 'Calls that wait for a decision of the meter',
      read: async () => deps.waitingCalls(),
    },
  ]
}

function paymentGauges({
  ecosystem,
  stores,
}: Pick<GaugeDeps, 'ecosystem' | 'stores'>): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  return [
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
