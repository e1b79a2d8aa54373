import { sumPostings } from '#accounts/ledger/check.ts'
import type { Readiness } from '#api/health-routes.ts'
import type { GaugeReading } from '#api/metrics.ts'
import type { MicroUsd } from '#base/money.ts'
import { startOfDay, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { getAnswerCache } from '#data/data-route.ts'
import { readMappingAnomalies } from '#data/mappings.ts'
import { readJobStates } from '#index/run-jobs.ts'
import { type ChainStatus, readStalls } from '#index/status.ts'
import { readUnproven } from '#payments/prepayments/deposits.ts'
import { oldestOpen } from '#payments/x402/payment.ts'
import { getOutcomes } from '#payments/x402/settle-payment.ts'
import { gasOfDay, readSettlingSetting, type Settling } from '#payments/x402/settling.ts'
import type { ProcessWork } from './read-readiness.ts'

interface ProcessGauges extends ProcessWork {
  waitingCalls(): number
  readiness(): Promise<Readiness>
  /** Undefined where x402 payments are not settled. */
  readonly settling: Settling | undefined
}

/** The gauges of a process that serves the API. Pools come first, before the scrape takes connections. */
export function listGauges(ctx: Context, own: ProcessGauges): readonly GaugeReading[] {
  return [
    poolGauge(ctx),
    ...processGauges(own),
    ...jobGauges(own),
    ...paymentGauges(ctx),
    ...ledgerGauges(ctx),
    ...registerGauges(ctx),
    anomalyGauge(ctx),
    ...endpointGauges(own),
    ...settlingGauges(ctx, own.settling),
  ]
}

function gauge(name: string, help: string, read: GaugeReading['read']): GaugeReading {
  return { name: `sexton_${name}`, help, read }
}

/** One value for each of a list, by name. */
function byName<Each>(
  list: readonly Each[],
  read: (each: Each) => readonly [name: string, value: number],
): Readonly<Record<string, number>> {
  return Object.fromEntries(list.map(read))
}

function poolGauge({ accounts, admissions, register }: Context): GaugeReading {
  return gauge('database_waiting', 'Statements that wait for a connection, by store', async () => {
    const stores = Object.entries({ accounts, admissions, register })
    const pooled = stores.flatMap(([name, engine]) => {
      const pool = engine.pool?.()
      return pool === undefined ? [] : [{ name, pool }]
    })
    return byName(pooled, ({ name, pool }) => [name, pool.waiting])
  })
}

function processGauges(own: ProcessGauges): readonly GaugeReading[] {
  return [
    gauge('ready', '1 while /readyz answers 200', async () =>
      Number((await own.readiness()).ready),
    ),
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
    gauge('meter_waiting_calls', 'Calls that wait for a decision of the meter', async () =>
      own.waitingCalls(),
    ),
  ]
}

/** Gauges of the jobs that this process runs while it leads. */
function jobGauges({ jobs, leading }: ProcessWork): readonly GaugeReading[] {
  return [
    gauge(
      'leads',
      '1 while this process leads, by what it does then: index, or run jobs',
      async () => ({ index: Number(leading.index), jobs: Number(leading.jobs.size > 0) }),
    ),
    gauge('job_late', '1 while the last success is longer ago than it may be, by job', async () =>
      byName(readJobStates(jobs, leading.jobs), ({ name, isLate }) => [name, Number(isLate)]),
    ),
  ]
}

function paymentGauges({ ecosystem, accounts }: Context): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  return [
    gauge('deposits_unproven', 'Deposits whose proof failed so far, by chain', async () => {
      const found = await readUnproven({ run: accounts.read }, chain.id)
      return { [chain.name]: found?.count ?? 0 }
    }),
  ]
}

/** The sums read every posting, so scrapes share a result. */
const FRESH_MS = 300_000

/** A scrape never waits: it shows the last finished sums and starts the next. */
function ledgerGauges({ accounts, clock }: Context): readonly GaugeReading[] {
  let known: { readonly sum: MicroUsd; readonly atMs: number } | undefined
  let isSumming = false
  const refresh = async () => {
    const isFresh = known !== undefined && Math.abs(clock() - known.atMs) < FRESH_MS
    if (isFresh || isSumming) return
    isSumming = true
    try {
      const atMs = clock()
      known = { sum: await sumPostings(accounts), atMs }
    } catch {
    } finally {
      isSumming = false
    }
  }
  const ofSums = (name: string, help: string, pick: (last: NonNullable<typeof known>) => number) =>
    gauge(`ledger_${name}`, help, async () => {
      void refresh()
      return known === undefined ? {} : pick(known)
    })
  return [
    ofSums('difference_micro_usd', 'Sum of all postings: 0, or the ledger is broken', ({ sum }) =>
      Number(sum),
    ),
    ofSums('checked_age_seconds', 'Since the ledger was last summed', ({ atMs }) =>
      Math.max(0, (clock() - atMs) / 1_000),
    ),
  ]
}

function registerGauges(ctx: Context): readonly GaugeReading[] {
  const { clock, ecosystem, register } = ctx
  const ofChains = async (read: (status: ChainStatus) => number) => {
    const state = await getAnswerCache(ctx).state()
    return byName(state?.status.chains ?? [], (each) => [each.chain.name, read(each)])
  }
  const lagOf = ({ blockTimeUnix }: ChainStatus) => unixNow(clock) - blockTimeUnix
  return [
    gauge('chain_lag_seconds', 'Age of the newest indexed block, by chain', () => ofChains(lagOf)),
    gauge('chain_stale', '1 while that is more than staleAfterSeconds, by chain', () =>
      ofChains((status) => Number(lagOf(status) > status.chain.staleAfterSeconds)),
    ),
    gauge('chain_stalled', '1 while a chain cannot be read on, by chain', async () => {
      const stalls = await register.snapshot(readStalls)
      return byName(ecosystem.chains, ({ id, name }) => [name, Number(stalls.has(id))])
    }),
  ]
}

export function anomalyGauge({
  ecosystem,
  register,
}: Pick<Context, 'ecosystem' | 'register'>): GaugeReading {
  const help = 'Logs that could not be decoded, by chain and mapping'
  return gauge('unreadable_logs', help, async () => {
    const counts: Record<string, number> = {}
    const found = await register.snapshot((reads) => readMappingAnomalies(reads, ecosystem))
    for (const { chain, mapping, logs } of found.filter(({ kind }) => kind === 'unreadable'))
      counts[`${chain} ${mapping}`] = (counts[`${chain} ${mapping}`] ?? 0) + logs
    return counts
  })
}

function endpointGauges({ indexing }: ProcessWork): readonly GaugeReading[] {
  const all = () =>
    indexing().flatMap(({ chain, endpoints }) =>
      endpoints.map((each) => ({ ...each, name: `${chain} ${each.host}` })),
    )
  return [
    gauge(
      'endpoint_well',
      '1 while the endpoint is in use, 0 while it is set aside, by chain and host',
      async () => byName(all(), ({ name, state }) => [name, Number(state === 'ok')]),
    ),
    gauge('endpoint_requests', 'Requests since the start, by chain and host', async () =>
      byName(all(), ({ name, requests }) => [name, requests]),
    ),
  ]
}

const WEI_PER_GWEI = 1_000_000_000n

/** Empty where x402 payments are not settled. */
function settlingGauges(ctx: Context, settling: Settling | undefined): readonly GaugeReading[] {
  const ofSettling = (
    name: string,
    help: string,
    read: (settling: Settling) => Promise<Readonly<Record<string, number>>>,
  ) => gauge(`x402_${name}`, help, async () => (settling === undefined ? {} : read(settling)))
  return [
    ofSettling('payments', 'Payments since the start, by outcome', async () => ({
      ...getOutcomes(ctx),
    })),
    ofSettling('open_seconds', 'Age of the oldest unfinished payment', async () => {
      const nowUnix = unixNow(ctx.clock)
      const oldestUnix = (await oldestOpen({ run: ctx.accounts.read })) ?? nowUnix
      return { oldest: Math.max(0, nowUnix - oldestUnix) }
    }),
    ofSettling(
      'gas_gwei',
      'Gas of the UTC day: what its transactions may cost at most, and the budget',
      async () => {
        const setting = readSettlingSetting(ctx)
        if (setting?.kind !== 'wallet') return {}
        const used = await gasOfDay({ run: ctx.accounts.read }, startOfDay(unixNow(ctx.clock)))
        return { used: Number(used), ceiling: setting.gasPerDayGwei }
      },
    ),
    ofSettling('wallet_gwei', 'Balance of the settling wallet', async ({ wallet, rpc }) =>
      wallet === undefined ? {} : { balance: Number((await rpc.balance(wallet)) / WEI_PER_GWEI) },
    ),
    ofSettling(
      'offers_shown',
      '1 while payments are offered and can be settled, else 0',
      async ({ isReady }) => ({ now: Number(await isReady()) }),
    ),
  ]
}
