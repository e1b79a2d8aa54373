import { type LedgerSums, sumLedger } from '#accounts/ledger/check.ts'
import type { Readiness } from '#api/health-routes.ts'
import type { GaugeReading } from '#api/metrics.ts'
import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import type { Context } from '#context.ts'
import type { Settling } from '#money/x402/settling.ts'
import { anomalyGauge, endpointGauges, registerGauges } from './index-gauges.ts'
import { jobGauges } from './job-gauges.ts'
import type { ProcessWork } from './read-readiness.ts'
import { settlingGauges } from './settling-gauges.ts'

interface ProcessGauges extends ProcessWork {
  waitingCalls(): number
  readiness(): Promise<Readiness>
  /** Undefined where x402 payments are not settled. */
  readonly settling: Settling | undefined
}

/** The gauges of a process that serves the API. Pools come first, before the scrape takes connections. */
export function gaugesOf(ctx: Context, own: ProcessGauges): readonly GaugeReading[] {
  return [
    poolGauge(ctx),
    ...processGauges(own),
    ...jobGauges(own),
    ...paymentGauges(ctx),
    ...ledgerGauges(ctx),
    ...registerGauges(ctx),
    anomalyGauge(ctx),
    ...endpointGauges(own.indexing),
    ...settlingGauges(ctx, own.settling),
  ]
}

function poolGauge({ accounts, admissions, register }: Context): GaugeReading {
  return {
    name: 'sexton_database_waiting',
    help: 'Statements that wait for a connection, by store',
    async read() {
      const pools = Object.entries({ accounts, admissions, register }).map(
        ([store, engine]) => [store, engine.pool?.()] as const,
      )
      return Object.fromEntries(
        pools.flatMap(([store, pool]) => (pool === undefined ? [] : [[store, pool.waiting]])),
      )
    },
  }
}

function processGauges(own: ProcessGauges): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_ready',
      help: '1 while /readyz answers 200',
      read: async () => Number((await own.readiness()).ready),
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
      read: async () => own.waitingCalls(),
    },
  ]
}

function paymentGauges({ ecosystem, register }: Context): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  return [
    {
      name: 'sexton_deposits_unproven',
      help: 'Deposits whose proof failed so far, by chain',
      async read() {
        const found = await register.snapshot((reads) => readUnproven(reads, chain.id))
        return { [chain.name]: found?.count ?? 0 }
      },
    },
  ]
}

/** The sums read every posting, so scrapes share a result. */
const FRESH_MS = 300_000

/** A scrape never waits: it shows the last finished sums and starts the next. */
export function ledgerGauges({ accounts, clock }: Context): readonly GaugeReading[] {
  let known: { readonly sums: LedgerSums; readonly atMs: number } | undefined
  let isSumming = false
  const refresh = async () => {
    const isFresh = known !== undefined && Math.abs(clock() - known.atMs) < FRESH_MS
    if (isFresh || isSumming) return
    isSumming = true
    try {
      const atMs = clock()
      known = { sums: await sumLedger(accounts), atMs }
    } catch {
    } finally {
      isSumming = false
    }
  }
  const gauge = (
    name: string,
    help: string,
    pick: (last: NonNullable<typeof known>) => number,
  ) => ({
    name: `sexton_ledger_${name}`,
    help,
    async read() {
      void refresh()
      return known === undefined ? {} : pick(known)
    },
  })
  return [
    gauge('difference_micro_usd', 'Sum of all postings: 0, or the ledger is broken', ({ sums }) =>
      Number(sums.postings),
    ),
    gauge('negative_balances', 'Prepaid balances below zero', ({ sums }) => sums.negative),
    gauge('checked_age_seconds', 'Since the ledger was last summed', ({ atMs }) =>
      Math.max(0, (clock() - atMs) / 1_000),
    ),
  ]
}
