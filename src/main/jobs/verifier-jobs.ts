import { readIndexStatus } from '#chains/indexer/status.ts'
import type { OpenJob } from '#operations/jobs/run-jobs.ts'
import { createAnomalyReport } from '../start/report-mappings.ts'
import type { JobDeps } from './job-deps.ts'
import { isPaid, isSettled, type ListedJob, openAll, wantedOf } from './listed-job.ts'
import { createRetention } from './retention.ts'
import { openSending } from './send-webhooks.ts'
import { openSettling, openVerifying, type SettlingJobs } from './settle-payments.ts'

interface VerifierDeps extends JobDeps {
  /** The jobs of payments that share a facilitator. */
  settling(): Promise<SettlingJobs>
}

/** All that the leading verifier does again and again. */
export const VERIFIER_JOBS: readonly ListedJob<VerifierDeps>[] = [
  {
    name: 'payments',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'prepayments stay pending',
    isWanted: isPaid,
    open: openVerifying,
  },
  {
    name: 'x402-send',
    everySeconds: 0.2,
    budgetSeconds: 30,
    whileFailing: 'x402 payments are not settled, and answered 402 or 503',
    isWanted: isSettled,
    open: async ({ settling }) => (await settling()).send,
  },
  {
    name: 'x402',
    everySeconds: 1,
    budgetSeconds: 60,
    whileFailing: 'x402 payments whose request ended early are credited late',
    isWanted: isSettled,
    open: async ({ settling }) => (await settling()).finish,
  },
  {
    name: 'x402-offers',
    everySeconds: 5,
    budgetSeconds: 60,
    whileFailing: 'x402 payments are not offered',
    isWanted: isSettled,
    open: async ({ settling }) => (await settling()).publish,
  },
  {
    name: 'webhooks',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'events reach webhooks late',
    open(deps) {
      const delivery = openSending(deps)
      deps.onEnd(() => delivery.stop())
      return () => delivery.pass()
    },
  },
  {
    name: 'mappings',
    everySeconds: 60,
    budgetSeconds: 30,
    whileFailing: 'unreadable logs are not told in the log',
    open: ({ stores: { register }, ecosystem, logger }) =>
      createAnomalyReport({ register, ecosystem, logger }),
  },
  {
    name: 'retention',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'old rows stay in the accounts',
    open({ stores, clock, ecosystem }) {
      const { accounts: engine, register } = stores
      const headUnix = async () => {
        const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
        return status?.asOfUnix
      }
      return createRetention({ engine, clock, headUnix })
    },
  },
]

export function openVerifierJobs(deps: JobDeps): Promise<readonly OpenJob[]> {
  let opened: Promise<SettlingJobs> | undefined
  const settling = () => {
    opened ??= openSettling(deps)
    return opened
  }
  return openAll(wantedOf(VERIFIER_JOBS, deps), { ...deps, settling })
}
