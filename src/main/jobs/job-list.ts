import type { Logger } from 'pino'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import { closeSpendDays } from '#ledger/close-spend-days.ts'
import type { Clock } from '#lib/time.ts'
import type { Leader } from '#store/leader.ts'
import type { Settings } from '../settings.ts'
import type { Stores } from '../stores.ts'
import type { Job, OpenJob } from './job.ts'
import { createRetention } from './retention.ts'
import { openFinishing, openVerifying } from './settle-payments.ts'

/** What decides which jobs an installation has. */
export interface JobFacts {
  readonly ecosystem: Ecosystem
  readonly settings: Pick<Settings, 'settling' | 'signingKeys'>
}

export interface JobDeps extends JobFacts {
  /** The accounts of the leader: a write fails once another process leads. */
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly settings: Pick<Settings, 'settling' | 'signingKeys' | 'webhookPrivate'>
  readonly leader: Pick<Leader, 'leads'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'error'>
  /** Wakes requests of this process that wait for a prepayment. */
  onChange(claimId: string): void
  /** Once the process has stopped starting jobs. */
  onEnd(work: () => Promise<void>): void
}

interface ListedJob extends Job {
  isWanted(facts: JobFacts): boolean
  open(deps: JobDeps): Promise<OpenJob['run']>
}

/** All that the leader among the processes with the role `verify` does again and again. */
const JOBS: readonly ListedJob[] = [
  {
    name: 'payments',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'prepayments stay pending',
    isWanted: ({ ecosystem }) => ecosystem.payment !== null,
    open: async (deps) => openVerifying(deps, paymentOf(deps)),
  },
  {
    name: 'x402',
    everySeconds: 1,
    budgetSeconds: 60,
    whileFailing: 'x402 payments whose request ended early are credited late',
    isWanted: ({ ecosystem, settings }) =>
      ecosystem.payment !== null && settings.settling !== undefined,
    open: (deps) => openFinishing(deps, paymentOf(deps)),
  },
  {
    name: 'webhooks',
    everySeconds: 0.5,
    budgetSeconds: 30,
    whileFailing: 'events reach webhooks late',
    isWanted: ({ settings }) => settings.signingKeys !== undefined,
    async open(deps) {
      const { openSending } = await import('./send-webhooks.ts')
      const deliverer = await openSending(deps, deps.settings.signingKeys ?? '')
      deps.onEnd(() => deliverer.stop())
      return () => deliverer.pass()
    },
  },
  {
    name: 'days',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'statements of finished days are not ready',
    isWanted: () => true,
    open: async ({ stores, clock }) => {
      const deps = { engine: stores.accounts, clock }
      return () => closeSpendDays(deps)
    },
  },
  {
    name: 'retention',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'old rows stay in the accounts',
    isWanted: () => true,
    open: async ({ stores, clock, ecosystem }) =>
      createRetention({
        engine: stores.accounts,
        clock,
        async headUnix() {
          const { register } = stores
          const status = await register.snapshot((reads) =>
            readIndexStatus(reads, ecosystem.chains),
          )
          return status?.asOfUnix
        },
      }),
  },
]

/** Of this installation. */
export function wantedJobs(facts: JobFacts): readonly Job[] {
  return JOBS.filter((job) => job.isWanted(facts))
}

export function openJobs(deps: JobDeps): Promise<readonly OpenJob[]> {
  const wanted = JOBS.filter((job) => job.isWanted(deps))
  return Promise.all(wanted.map(async (job) => ({ ...job, run: await job.open(deps) })))
}

function paymentOf({ ecosystem: { payment } }: JobFacts) {
  if (payment === null) throw new Error('a job for payments, but the file has no payment')
  return payment
}
