import type { LeaseName } from '#operations/jobs/leader.ts'
import type { Job } from '#operations/jobs/run-jobs.ts'
import type { Engine } from '#store/engine.ts'
import type { Stores } from '../stores.ts'
import { INDEX_JOBS } from './index-jobs.ts'
import { type JobFacts, wantedOf } from './listed-job.ts'
import { VERIFIER_JOBS } from './verifier-jobs.ts'

export interface JobsOfLead {
  /** The role whose leader runs them: `sexton verify` or `sexton index`, or both in `sexton start`. */
  readonly lead: LeaseName
  /** The store that the leader writes. */
  readonly engine: Engine
  readonly jobs: readonly Job[]
}

/** The jobs of this installation. */
export function allJobs(
  facts: JobFacts & { readonly stores: Pick<Stores, 'register' | 'accounts'> },
): readonly JobsOfLead[] {
  const { register, accounts } = facts.stores
  return [
    { lead: 'verifier', engine: accounts, jobs: wantedOf(VERIFIER_JOBS, facts) },
    { lead: 'index', engine: register, jobs: wantedOf(INDEX_JOBS, facts) },
  ]
}
