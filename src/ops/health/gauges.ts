import { type LedgerSums, sumLedger } from '#accounts/ledger/check.ts'
import type { Readiness } from '#api/health-routes.ts'
import type { GaugeReading } from '#api/metrics.ts'
import { startOfDay, unixNow } from '#base/time.ts'
import type { EndpointStatus } from '#chain/chain-source.ts'
import type { Context } from '#context.ts'
import { answersOf } from '#data/data-route.ts'
import { readMappingAnomalies } from '#index/mappings.ts'
import { readJobStates } from '#index/run-jobs.ts'
import { type IndexStatus, readStalls } from '#index/status.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import { readUnproven } from '#payments/prepayments/deposits.ts'
import { oldestOpen } from '#payments/x402/payment.ts'
import { outcomesOf } from '#payments/x402/settle-payment.ts'
import type { Settling } from '#payments/x402/settling.ts'
import { gasOfDay, settlingSettingOf } from '#payments/x402/settling.ts'
import type { ProcessWork } from './read-readiness.ts'

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

/** Gauges of the jobs that this process runs while it leads. */
function jobGauges({ jobs, leading }: ProcessWork): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_leads',
      help: '1 while this process leads, by what it does then: index, or run jobs',
      read: async () => ({ index: Number(leading.index), jobs: Number(leading.jobs.size > 0) }),
    },
    {
      name: 'sexton_job_late',
      help: '1 while the last success is longer ago than it may be, by job',
      read: async () =>
        Object.fromEntries(
          readJobStates(jobs, leading.jobs).map(({ name, isLate }) => [name, Number(isLate)]),
        ),
    },
  ]
}

function paymentGauges({ ecosystem, accounts }: Context): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  return [
    {
      name: 'sexton_deposits_unproven',
      help: 'Deposits whose proof failed so far, by chain',
      async read() {
        const found = await readUnproven({ run: accounts.read }, chain.id)
        return { [chain.name]: found?.count ?? 0 }
      },
    },
  ]
}

/** The sums read every posting, so scrapes share a result. */
const FRESH_MS = 300_000

/** A scrape never waits: it shows the last finished sums and starts the next. */
function ledgerGauges({ accounts, clock }: Context): readonly GaugeReading[] {
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

function registerGauges(ctx: Context): readonly GaugeReading[] {
  const { clock, ecosystem, register } = ctx
  const recentStatus = async () => (await answersOf(ctx).state())?.status
  return [
    {
      name: 'sexton_chain_lag_seconds',
      help: 'Age of the newest indexed block, by chain',
      read: async () =>
        ofChains(await recentStatus(), (status) => unixNow(clock) - status.blockTimeUnix),
    },
    {
      name: 'sexton_chain_stale',
      help: '1 while that is more than staleAfterSeconds, by chain',
      read: async () =>
        ofChains(await recentStatus(), ({ blockTimeUnix, chain }) =>
          Number(unixNow(clock) - blockTimeUnix > chain.staleAfterSeconds),
        ),
    },
    {
      name: 'sexton_chain_stalled',
      help: '1 while a chain cannot be read on, by chain',
      async read() {
        const stalls = await register.snapshot(readStalls)
        return Object.fromEntries(
          ecosystem.chains.map(({ id, name }) => [name, Number(stalls.has(id))]),
        )
      },
    },
  ]
}

export function anomalyGauge({
  ecosystem,
  register,
}: Pick<Context, 'ecosystem' | 'register'>): GaugeReading {
  return {
    name: 'sexton_unreadable_logs',
    help: 'Logs that could not be decoded, by chain and mapping',
    async read() {
      const counts: Record<string, number> = {}
      const found = await register.snapshot((reads) => readMappingAnomalies(reads, ecosystem))
      for (const { chain, mapping, logs } of found.filter(({ kind }) => kind === 'unreadable'))
        counts[`${chain} ${mapping}`] = (counts[`${chain} ${mapping}`] ?? 0) + logs
      return counts
    },
  }
}

function ofChains(
  index: IndexStatus | undefined,
  read: (status: IndexStatus['chains'][number]) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries((index?.chains ?? []).map((each) => [each.chain.name, read(each)]))
}

function endpointGauges(indexing: () => readonly IndexProgress[]): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (each: EndpointStatus) => number) => ({
    name: `sexton_endpoint_${name}`,
    help: `${help}, by chain and host`,
    read: async () =>
      Object.fromEntries(
        indexing().flatMap(({ chain, endpoints }) =>
          endpoints.map((each) => [`${chain} ${each.host}`, pick(each)] as const),
        ),
      ),
  })
  return [
    gauge('well', '1 while the endpoint is in use, 0 while it is set aside', (each) =>
      Number(each.state === 'ok'),
    ),
    gauge('requests', 'Requests since the start', (each) => each.requests),
  ]
}

const WEI_PER_GWEI = 1_000_000_000n

/** Empty where x402 payments are not settled. */
function settlingGauges(ctx: Context, settling: Settling | undefined): readonly GaugeReading[] {
  const gauge = (
    name: string,
    help: string,
    read: (settling: Settling) => Promise<Readonly<Record<string, number>>>,
  ): GaugeReading => ({
    name: `sexton_x402_${name}`,
    help,
    read: async () => (settling === undefined ? {} : await read(settling)),
  })
  return [
    gauge('payments', 'Payments since the start, by outcome', async () => ({ ...outcomesOf(ctx) })),
    gauge('open_seconds', 'Age of the oldest unfinished payment', async () => {
      const nowUnix = unixNow(ctx.clock)
      const oldestUnix = (await oldestOpen({ run: ctx.accounts.read })) ?? nowUnix
      return { oldest: Math.max(0, nowUnix - oldestUnix) }
    }),
    gauge(
      'gas_gwei',
      'Gas of the UTC day: what its transactions may cost at most, and the budget',
      () => readGas(ctx),
    ),
    gauge('wallet_gwei', 'Balance of the settling wallet', readWallet),
    gauge(
      'offers_shown',
      '1 while payments are offered and can be settled, else 0',
      async ({ isReady }) => ({ now: Number(await isReady()) }),
    ),
  ]
}

async function readGas(ctx: Context): Promise<Readonly<Record<string, number>>> {
  const setting = settlingSettingOf(ctx)
  if (setting?.kind !== 'wallet') return {}
  const used = await gasOfDay({ run: ctx.accounts.read }, startOfDay(unixNow(ctx.clock)))
  return { used: Number(used), ceiling: setting.gasPerDayGwei }
}

async function readWallet({ wallet, rpc }: Settling): Promise<Readonly<Record<string, number>>> {
  if (wallet === undefined) return {}
  return { balance: Number((await rpc.balance(wallet)) / WEI_PER_GWEI) }
}
