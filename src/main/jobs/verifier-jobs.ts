import { readIndexStatus } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import { notifierOf } from '#money/payments/prepay-routes.ts'
import { verifyPayments } from '#money/payments/verifier.ts'
import { settlingSettingOf } from '#money/x402/facilitator.ts'
import { finishPayments } from '#money/x402/finish-payments.ts'
import { settlingOf } from '#money/x402/settling.ts'
import type { Job, OpenJob } from '#operations/jobs/run-jobs.ts'
import { WebhookSender } from '#serving/webhooks/send-webhooks.ts'
import { createAnomalyReport } from '../start/report-mappings.ts'
import type { JobDeps } from './job-deps.ts'
import { createRetention } from './retention.ts'

interface VerifierJob extends Job {
  readonly isWanted?: (ctx: Context) => boolean
  open(deps: JobDeps): OpenJob['run'] | Promise<OpenJob['run']>
}

const isPaid = ({ ecosystem }: Context) => ecosystem.payment !== null

const isSettled = (ctx: Context) => settlingSettingOf(ctx) !== undefined

/** All that the leader of the jobs does again and again. */
const VERIFIER_JOBS: readonly VerifierJob[] = [
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
    everySeconds: 1,
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
    name: 'mappings',
    everySeconds: 60,
    budgetSeconds: 30,
    whileFailing: 'unreadable logs are not told in the log',
    open: createAnomalyReport,
  },
  {
    name: 'retention',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'old rows stay in the accounts',
    open({ accounts: engine, register, clock, ecosystem }) {
      const headUnix = async () => {
        const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
        return status?.asOfUnix
      }
      return createRetention({ engine, clock, headUnix })
    },
  },
]

/** Those that this installation has. */
export function wantedJobs(ctx: Context): readonly VerifierJob[] {
  return VERIFIER_JOBS.filter(({ isWanted }) => isWanted?.(ctx) ?? true)
}

export function openVerifierJobs(deps: JobDeps): Promise<readonly OpenJob[]> {
  return Promise.all(wantedJobs(deps).map(async (job) => ({ ...job, run: await job.open(deps) })))
}

/** Credits prepayments, and takes back what a reorg took. */
function openVerifying(deps: JobDeps): () => Promise<void> {
  return async () => {
    const { credited, reversed } = await verifyPayments(deps)
    if (credited + reversed === 0) return
    notifierOf(deps.ctx).notify()
    deps.logger.info({ credited, reversed }, 'prepayments were settled')
  }
}

/** Finishes x402 payments. It needs no fence, since a payment's row is locked while it is credited. */
async function openFinishing({ ctx, logger }: JobDeps): Promise<() => Promise<void>> {
  const settling = await settlingOf(ctx)
  return async () => {
    if (settling === undefined) return
    const credited = await finishPayments(ctx, settling)
    if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
  }
}
