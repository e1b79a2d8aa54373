import { allEnded } from '#lib/all-ended.ts'
import type { Clock } from '#lib/time.ts'
import { type JobState, readJobStates } from '#operations/jobs/job-runs.ts'
import type { Job } from '#operations/jobs/run-jobs.ts'
import type { GaugeReading } from '#serving/api/metrics.ts'
import type { Engine } from '#store/engine.ts'

export interface JobGaugeDeps {
  readonly clock: Clock
  /** Each list with the store that its leader writes. */
  readonly lists: readonly { readonly engine: Engine; readonly jobs: readonly Job[] }[]
}

/** A job that never succeeded has no age, but is late. */
export function jobGauges(deps: JobGaugeDeps): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (state: JobState) => number | undefined) => ({
    name: `sexton_job_${name}`,
    help: `${help}, by job`,
    async read() {
      const values = (await readAll(deps)).map((state) => [state.name, pick(state)] as const)
      return Object.fromEntries(
        values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
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

/** Describes jobs by name, for `/readyz`. */
export async function describeJobs(deps: JobGaugeDeps): Promise<Readonly<Record<string, string>>> {
  const states = await readAll(deps)
  return Object.fromEntries(states.map((state) => [`job ${state.name}`, describeJob(state)]))
}

async function readAll({ lists, clock }: JobGaugeDeps): Promise<readonly JobState[]> {
  const found = lists.map(({ engine, jobs }) => readJobStates({ engine, clock }, jobs))
  return (await allEnded(found)).flat()
}

function describeJob(state: JobState): string {
  const { succeededAgo, failedAgo, failure, isLate, whileFailing } = state
  const last = succeededAgo === undefined ? 'has not run yet' : `last success ${succeededAgo} s ago`
  const failed = failure === undefined ? '' : `; failed ${failedAgo} s ago: ${failure}`
  return isLate ? `LATE (${whileFailing}): ${last}${failed}` : `${last}${failed}`
}
