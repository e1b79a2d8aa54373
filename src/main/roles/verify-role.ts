import { keepJobRuns } from '#operations/jobs/job-runs.ts'
import { fencedBy, Leader } from '#operations/jobs/leader.ts'
import { type JobRuns, runJobs } from '#operations/jobs/run-jobs.ts'
import type { JobDeps } from '../jobs/job-deps.ts'
import { openVerifierJobs } from '../jobs/verifier-jobs.ts'

export interface VerifyRole extends Omit<JobDeps, 'leader' | 'onEnd'> {
  /** Whether this process leads; told again and again. */
  onLead?(leads: boolean): void
}

/** Runs the list of jobs while this process leads, until the signal aborts. */
export async function runVerifyRole(role: VerifyRole, signal: AbortSignal): Promise<void> {
  const { stores, clock, logger } = role
  const { accounts: engine } = stores
  const leader = new Leader({ engine, clock, name: 'verifier', onLead: role.onLead })
  const ends: (() => Promise<void>)[] = []
  const runs: JobRuns = new Map()
  const fenced = { ...stores, accounts: fencedBy(leader, engine) }
  const jobs = await openVerifierJobs({
    ...role,
    stores: fenced,
    leader,
    onEnd: (end) => ends.push(end),
  })
  const ending = new AbortController()
  const leading = leader.keep(ending.signal)
  await Promise.all([
    runJobs(jobs, { leader, logger, runs }, signal),
    keepJobRuns({ engine, clock, leader, runs }, signal),
  ])
  // The lease goes last: what is under way still writes.
  for (const end of ends) await end()
  ending.abort()
  await leading
}
