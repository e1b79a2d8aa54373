import { fencedBy, Leader } from '#operations/jobs/leader.ts'
import { type JobRuns, runJobs } from '#operations/jobs/run-jobs.ts'
import type { JobDeps } from '../jobs/job-deps.ts'
import { openVerifierJobs } from '../jobs/verifier-jobs.ts'

interface LeadJobsInput extends Omit<JobDeps, 'leader' | 'onEnd'> {
  /** Filled while this process leads. */
  readonly runs: JobRuns
}

/** Runs the list of jobs while this process leads, until the signal aborts. */
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
  // The lead goes last: work in flight still writes.
  for (const end of ends) await end()
  ending.abort()
  await leading
}
