import type { GaugeReading } from '#api/metrics.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { Job } from '../jobs/job.ts'
import { type JobState, readJobStates } from '../jobs/job-runs.ts'

export interface JobGaugeDeps {
  /** The accounts. */
  readonly engine: Engine
  readonly clock: Clock
  readonly jobs: readonly Job[]
}

/** A job that never succeeded has no age, but is late. */
export function jobGauges(deps: JobGaugeDeps): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (state: JobState) => number | undefined) => ({
    name: `sexton_job_${name}`,
    help: `${help}, by job`,
    async read() {
      const states = await readJobStates(deps, deps.jobs)
      return Object.fromEntries(
        states.flatMap((state) => {
          const value = pick(state)
          return value === undefined ? [] : [[state.name, value] as const]
        }),
      )
    },
  })
  return [
    gauge('late', '1 while the last success is longer ago than it may be', ({ isLate }) =>
      Number(isLate),
    ),
    gauge('age_seconds', 'Since the last success', ({ succeededAgo }) => succeededAgo),
  ]
}

/** For `/readyz`, by name. */
export async function describeJobs(deps: JobGaugeDeps): Promise<Readonly<Record<string, string>>> {
  const states = await readJobStates(deps, deps.jobs)
  return Object.fromEntries(states.map((state) => [`job ${state.name}`, describeJob(state)]))
}

export function describeJob(state: JobState): string {
  const { succeededAgo, failedAgo, failure, isLate, whileFailing } = state
  const last = succeededAgo === undefined ? 'has not run yet' : `last success ${succeededAgo} s ago`
  const failed = failure === undefined ? '' : `; failed ${failedAgo} s ago: ${failure}`
  return isLate ? `LATE: ${last}${failed} (${whileFailing})` : `${last}${failed}`
}
