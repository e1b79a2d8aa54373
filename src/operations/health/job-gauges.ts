import type { GaugeReading } from '#api/metrics.ts'
import { type Job, type JobRuns, type JobState, readJobStates } from '#operations/jobs/run-jobs.ts'

/** What this process does as a leader. */
export interface Leading {
  /** Whether it indexes. */
  index: boolean
  /** Empty while it does not run the jobs. */
  readonly jobs: JobRuns
}

export interface LedJobs {
  readonly jobs: readonly Job[]
  readonly leading: Leading
}

/** Gauges of the jobs that this process runs while it leads. */
export function jobGauges({ jobs, leading }: LedJobs): readonly GaugeReading[] {
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

/** Describes jobs by name, for `/readyz`. */
export function describeJobs({ jobs, leading }: LedJobs): Readonly<Record<string, string>> {
  const states = readJobStates(jobs, leading.jobs)
  return Object.fromEntries(states.map((state) => [`job ${state.name}`, describeJob(state)]))
}

function describeJob(state: JobState): string {
  const { succeededAgo, failedAgo, failure, isLate, whileFailing } = state
  const last = succeededAgo === undefined ? 'has not run yet' : `last success ${succeededAgo} s ago`
  const failed = failure === undefined ? '' : `; failed ${failedAgo} s ago: ${failure}`
  return isLate ? `LATE (${whileFailing}): ${last}${failed}` : `${last}${failed}`
}
