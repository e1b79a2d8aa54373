import { RETAINED_USAGE } from '#accounts/metering/usage/usage.ts'
import { type Clock, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { WebhookSender } from '#feed/send-webhooks.ts'
import { RETAINED_WEBHOOKS } from '#feed/webhook-store.ts'
import { fencedBy, Leader } from '#index/leader.ts'
import { createPruning, type Retained } from '#index/retained.ts'
import { type Job, type JobRuns, type OpenJob, runJobs } from '#index/run-jobs.ts'
import { readIndexStatus } from '#index/status.ts'
import { RETAINED_CLAIMS } from '#payments/prepayments/claim.ts'
import { scanDeposits } from '#payments/prepayments/deposits.ts'
import { verifyPayments } from '#payments/prepayments/verifier.ts'
import { finishPayments } from '#payments/x402/settle-payment.ts'
import { getSettling, readSettlingSetting } from '#payments/x402/settling.ts'

interface VerifierJob extends Job {
  readonly isWanted?: (ctx: Context) => boolean
  open(deps: JobDeps): OpenJob['run'] | Promise<OpenJob['run']>
}

const isPaid = ({ ecosystem }: Context) => ecosystem.payment !== null

const isSettled = (ctx: Context) => readSettlingSetting(ctx) !== undefined

/** Everything that the jobs' leader repeats. */
const VERIFIER_JOBS: readonly VerifierJob[] = [
  {
    name: 'deposits',
    everySeconds: 2,
    budgetSeconds: 60,
    whileFailing: 'new prepayments are not seen',
    isWanted: isPaid,
    open: (deps) => (signal) => scanDeposits(deps, signal),
  },
  {
    name: 'payments',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'prepayments stay pending',
    isWanted: isPaid,
    open: openVerifying,
  },
  {
    name: 'x402',
    everySeconds: 5,
    budgetSeconds: 60,
    whileFailing: 'x402 payments whose request ended early are credited late',
    isWanted: isSettled,
    open: openFinishing,
  },
  {
    name: 'webhooks',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'events reach webhooks late',
    open(deps) {
      const sender = new WebhookSender(deps)
      deps.onEnd(() => sender.stop())
      return () => sender.pass()
    },
  },
  {
    name: 'retention',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'old rows stay in the accounts',
    open: ({ accounts: engine, register, clock, ecosystem }) =>
      createRetention({
        engine,
        clock,
        async headUnix() {
          const { chains } = ecosystem
          return (await register.snapshot((reads) => readIndexStatus(reads, chains)))?.asOfUnix
        },
      }),
  },
]

/** Jobs for the configured parts. */
export function wantedJobs(ctx: Context): readonly VerifierJob[] {
  return VERIFIER_JOBS.filter(({ isWanted }) => isWanted?.(ctx) ?? true)
}

function openVerifierJobs(deps: JobDeps): Promise<readonly OpenJob[]> {
  return Promise.all(wantedJobs(deps).map(async (job) => ({ ...job, run: await job.open(deps) })))
}

/** Context for the jobs. Writes to the accounts fail once another process leads. */
interface JobDeps extends Context {
  /** The process's own context, whose writes are not fenced. */
  readonly ctx: Context
  readonly leader: Pick<Leader, 'leads'>
  /** Registers work to do once no job starts any more. */
  onEnd(work: () => Promise<void>): void
}

/** Everything that is deleted from the accounts, in this order. */
const RETENTION: readonly Retained[] = [...RETAINED_USAGE, RETAINED_CLAIMS, RETAINED_WEBHOOKS]

interface RetentionDeps {
  readonly engine: Engine
  readonly clock: Clock
  /** Time of the newest indexed block, in Unix seconds. */
  headUnix(): Promise<number | undefined>
}

/** Counts days by the earlier of clock and chain time, so that a wrong clock deletes nothing early. */
export function createRetention(deps: RetentionDeps): (signal?: AbortSignal) => Promise<void> {
  const prune = createPruning(RETENTION)
  return async (signal) => {
    const headUnix = await deps.headUnix()
    if (headUnix === undefined) return
    const nowUnix = Math.min(unixNow(deps.clock), headUnix)
    await prune({ engine: deps.engine, nowUnix }, signal)
  }
}

/** Credits prepayments, and reverses what a reorg removed. */
function openVerifying(deps: JobDeps): () => Promise<void> {
  return async () => {
    const { credited, reversed } = await verifyPayments(deps)
    if (credited + reversed === 0) return
    deps.logger.info({ credited, reversed }, 'prepayments were settled')
  }
}

/** Finishes x402 payments. Needs no fence, since a payment's row is locked while it is credited. */
async function openFinishing({ ctx }: JobDeps): Promise<() => Promise<void>> {
  const settling = await getSettling(ctx)
  return async () => {
    if (settling !== undefined) await finishPayments(ctx, settling)
  }
}

interface LeadJobsInput extends Omit<JobDeps, 'leader' | 'onEnd'> {
  /** Filled while this process leads. */
  readonly runs: JobRuns
}

/** Runs the jobs while this process leads, until the signal aborts. */
export async function leadJobs(input: LeadJobsInput, signal: AbortSignal): Promise<void> {
  const { accounts: engine, logger, runs } = input
  const leader = new Leader({ engine, name: 'verifier' })
  const ends: (() => Promise<void>)[] = []
  const jobs = await openVerifierJobs({
    ...input,
    accounts: fencedBy(leader, engine),
    leader,
    onEnd: (end) => ends.push(end),
  })
  const ending = new AbortController()
  const leading = leader.keep(ending.signal)
  await runJobs(jobs, { leader, logger, runs }, signal)
  // Gives up the lead last, because work in flight still writes.
  for (const end of ends) await end()
  ending.abort()
  await leading
}
