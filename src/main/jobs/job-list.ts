import type { LeaseName } from '#operations/jobs/leader.ts'
import type { Job } from '#operations/jobs/run-jobs.ts'
import type { Engine } from '#store/engine.ts'
import type { Settings } from '../settings.ts'
import { type SettlingFacts, settlingOf } from '../settling.ts'
import type { Stores } from '../stores.ts'

/** What decides which jobs an installation has. */
export interface JobFacts extends SettlingFacts {
  readonly settings: Pick<Settings, 'settling' | 'signingKeys'>
}

interface ListedJob extends Job {
  /** The role whose leader runs it: `sexton verify` or `sexton index`, or both in `sexton start`. */
  readonly lead: LeaseName
  readonly isWanted?: (facts: JobFacts) => boolean
}

const isPaid = ({ ecosystem }: JobFacts) => ecosystem.payment !== null

const isSettled = (facts: JobFacts) => settlingOf(facts) !== undefined

/** All that is done again and again. Opened in `open-jobs.ts` and `open-index-jobs.ts`. */
const JOBS = [
  {
    name: 'payments',
    lead: 'verifier',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'prepayments stay pending',
    isWanted: isPaid,
  },
  {
    name: 'x402-send',
    lead: 'verifier',
    everySeconds: 0.2,
    budgetSeconds: 30,
    whileFailing: 'x402 payments are not settled, and answered 402 or 503',
    isWanted: isSettled,
  },
  {
    name: 'x402',
    lead: 'verifier',
    everySeconds: 1,
    budgetSeconds: 60,
    whileFailing: 'x402 payments whose request ended early are credited late',
    isWanted: isSettled,
  },
  {
    name: 'x402-offers',
    lead: 'verifier',
    everySeconds: 5,
    budgetSeconds: 60,
    whileFailing: 'x402 payments are not offered',
    isWanted: isSettled,
  },
  {
    name: 'webhooks',
    lead: 'verifier',
    everySeconds: 1,
    budgetSeconds: 30,
    whileFailing: 'events reach webhooks late',
    isWanted: ({ settings }) => settings.signingKeys !== undefined,
  },
  {
    name: 'days',
    lead: 'verifier',
    everySeconds: 10,
    budgetSeconds: 60,
    whileFailing: 'statements of finished days are not ready',
  },
  {
    name: 'retention',
    lead: 'verifier',
    everySeconds: 60,
    budgetSeconds: 60,
    whileFailing: 'old rows stay in the accounts',
  },
  {
    name: 'deposits',
    lead: 'index',
    everySeconds: 0.5,
    budgetSeconds: 60,
    whileFailing: 'deposits wait for their proof, and so for their credit',
    isWanted: isPaid,
  },
  {
    name: 'omissions',
    lead: 'index',
    everySeconds: 1,
    // The first run may read all that payTo ever sent.
    budgetSeconds: 3_600,
    whileFailing: 'a deposit that a node left out stays unseen',
    isWanted: isPaid,
  },
  {
    name: 'proofs',
    lead: 'index',
    everySeconds: 0.5,
    budgetSeconds: 600,
    whileFailing: 'figures are not compared with the token contracts',
  },
  {
    name: 'mappings',
    lead: 'index',
    everySeconds: 60,
    budgetSeconds: 30,
    whileFailing: 'unreadable logs are not told in the log',
  },
  {
    name: 'nodes',
    lead: 'index',
    everySeconds: 5,
    budgetSeconds: 30,
    whileFailing: '/readyz of other processes shows old states of nodes',
  },
] as const satisfies readonly ListedJob[]

type Listed = (typeof JOBS)[number]

export type JobOf<Lead extends LeaseName> = Extract<Listed, { lead: Lead }>['name']

/** Those that this installation has. */
export function jobsOf<Lead extends LeaseName>(
  lead: Lead,
  facts: JobFacts,
): readonly (Job & { readonly name: JobOf<Lead> })[] {
  const listed: readonly ListedJob[] = JOBS
  return listed.filter(
    (job): job is ListedJob & { readonly name: JobOf<Lead> } =>
      job.lead === lead && (job.isWanted?.(facts) ?? true),
  )
}

export interface JobsOfLead {
  readonly lead: LeaseName
  /** The store that the leader writes. */
  readonly engine: Engine
  readonly jobs: readonly Job[]
}

export function allJobs(
  facts: JobFacts & { readonly stores: Pick<Stores, 'register' | 'accounts'> },
): readonly JobsOfLead[] {
  const { register, accounts } = facts.stores
  return [
    { lead: 'verifier', engine: accounts, jobs: jobsOf('verifier', facts) },
    { lead: 'index', engine: register, jobs: jobsOf('index', facts) },
  ]
}
