import type { Logger } from 'pino'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import type { Leader } from '#jobs/leader.ts'
import type { OpenJob } from '#jobs/run-jobs.ts'
import { closeSpendDays } from '#ledger/close-spend-days.ts'
import type { Clock } from '#lib/time.ts'
import type { Settings } from '../settings.ts'
import type { Stores } from '../stores.ts'
import { type JobOf, jobsOf } from './job-list.ts'
import { createRetention } from './retention.ts'
import { openFinishing, openVerifying } from './settle-payments.ts'

export interface JobDeps {
  readonly ecosystem: Ecosystem
  /** The accounts of the leader: a write fails once another process leads. */
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly settings: Pick<Settings, 'settling' | 'signingKeys' | 'webhookPrivate'>
  readonly leader: Pick<Leader, 'leads'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'error'>
  /** Wakes requests of this process that wait for a prepayment. */
  onChange(claimId: string): void
  /** Takes what is to be done once no job starts any more. */
  onEnd(work: () => Promise<void>): void
}

type Run = OpenJob['run']

const OPEN: Readonly<Record<JobOf<'verifier'>, (deps: JobDeps) => Run | Promise<Run>>> = {
  payments: openVerifying,
  x402: openFinishing,
  async webhooks(deps) {
    // Lazy: only a service that signs needs it.
    const { openSending } = await import('./send-webhooks.ts')
    const deliverer = await openSending(deps, deps.settings.signingKeys ?? '')
    deps.onEnd(() => deliverer.stop())
    return () => deliverer.pass()
  },
  days({ stores, clock }) {
    const deps = { engine: stores.accounts, clock }
    return () => closeSpendDays(deps)
  },
  retention({ stores, clock, ecosystem }) {
    const { accounts: engine, register } = stores
    const headUnix = async () => {
      const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
      return status?.asOfUnix
    }
    return createRetention({ engine, clock, headUnix })
  },
}

export function openJobs(deps: JobDeps): Promise<readonly OpenJob[]> {
  return Promise.all(
    jobsOf('verifier', deps).map(async (job) => ({ ...job, run: await OPEN[job.name](deps) })),
  )
}
