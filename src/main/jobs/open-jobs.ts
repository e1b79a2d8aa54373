import { readIndexStatus } from '#chains/indexer/status.ts'
import { closeSpendDays } from '#ledger/close-spend-days.ts'
import type { OpenJob } from '#operations/jobs/run-jobs.ts'
import type { JobDeps } from './job-deps.ts'
import { type JobOf, jobsOf } from './job-list.ts'
import { createRetention } from './retention.ts'
import { openSettling, openVerifying, type SettlingJobs } from './settle-payments.ts'

type Run = OpenJob['run']

interface OpenDeps extends JobDeps {
  /** The jobs of payments that share a facilitator. */
  settling(): Promise<SettlingJobs>
}

const OPEN: Readonly<Record<JobOf<'verifier'>, (deps: OpenDeps) => Run | Promise<Run>>> = {
  payments: openVerifying,
  'x402-send': async ({ settling }) => (await settling()).send,
  x402: async ({ settling }) => (await settling()).finish,
  'x402-offers': async ({ settling }) => (await settling()).publish,
  async webhooks(deps) {
    // Lazy: only a service that signs needs it.
    const { openSending } = await import('./send-webhooks.ts')
    const delivery = await openSending(deps, deps.settings.signingKeys ?? '')
    deps.onEnd(() => delivery.stop())
    return () => delivery.pass()
  },
  days({ stores, clock }) {
    const deps = { engine: stores.accounts, clock }
    return (signal) => closeSpendDays(deps, signal)
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
  let opened: Promise<SettlingJobs> | undefined
  const settling = () => {
    opened ??= openSettling(deps)
    return opened
  }
  return Promise.all(
    jobsOf('verifier', deps).map(async (job) => ({
      ...job,
      run: await OPEN[job.name]({ ...deps, settling }),
    })),
  )
}
