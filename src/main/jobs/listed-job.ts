import type { Job, OpenJob } from '#operations/jobs/run-jobs.ts'
import type { Settings } from '../settings.ts'
import { type SettlingFacts, settlingOf } from '../settling.ts'

/** What decides which jobs an installation has. */
export interface JobFacts extends SettlingFacts {
  readonly settings: Pick<Settings, 'settling'>
}

/** What a leader does again and again. */
export interface ListedJob<Deps> extends Job {
  readonly isWanted?: (facts: JobFacts) => boolean
  open(deps: Deps): OpenJob['run'] | Promise<OpenJob['run']>
}

export const isPaid = ({ ecosystem }: JobFacts) => ecosystem.payment !== null

export const isSettled = (facts: JobFacts) => settlingOf(facts) !== undefined

/** Those that this installation has. */
export function wantedOf<Deps>(
  jobs: readonly ListedJob<Deps>[],
  facts: JobFacts,
): readonly ListedJob<Deps>[] {
  return jobs.filter(({ isWanted }) => isWanted?.(facts) ?? true)
}

export function openAll<Deps>(
  jobs: readonly ListedJob<Deps>[],
  deps: Deps,
): Promise<readonly OpenJob[]> {
  return Promise.all(jobs.map(async (job) => ({ ...job, run: await job.open(deps) })))
}
