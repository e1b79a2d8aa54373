import type { Logger } from 'pino'
import { sleep } from '#base/async.ts'
import { type Leader, LeadLostError } from '#index/leader.ts'

/** Work that is done again and again, by one process at a time. */
export interface Job {
  readonly name: string
  readonly everySeconds: number
  /** A run that takes longer is told to end. */
  readonly budgetSeconds: number
  /** What callers or the operator notice. */
  readonly whileFailing: string
}

export interface OpenJob extends Job {
  run(signal: AbortSignal): Promise<unknown>
}

/** The newest runs of a job in this process, by `performance.now()`. */
interface JobRun {
  readonly firstMs: number
  readonly succeededMs: number | undefined
  readonly failedMs: number | undefined
  /** Why the last run failed; undefined if it did not. */
  readonly failure: string | undefined
}

/** How a job does in the process that leads. */
export interface JobState extends Job {
  /** Seconds since its last success and failure. */
  readonly succeededAgo: number | undefined
  readonly failedAgo: number | undefined
  readonly failure: string | undefined
  /** Judged by its last success, else its first run. */
  readonly isLate: boolean
}

/** Leaves time for a run in flight. */
const GRACE_SECONDS = 30

/** The jobs that this process runs; none while it does not lead. */
export function readJobStates(jobs: readonly Job[], runs: JobRuns): readonly JobState[] {
  const nowMs = performance.now()
  const ago = (ms: number | undefined) =>
    ms === undefined ? undefined : Math.round((nowMs - ms) / 1_000)
  return jobs.flatMap((job) => {
    const run = runs.get(job.name)
    if (run === undefined) return []
    const { firstMs, succeededMs, failedMs, failure } = run
    const waitingSeconds = (nowMs - (succeededMs ?? firstMs)) / 1_000
    const isLate = waitingSeconds > job.everySeconds + job.budgetSeconds + GRACE_SECONDS
    return [{ ...job, succeededAgo: ago(succeededMs), failedAgo: ago(failedMs), failure, isLate }]
  })
}

const NEVER = { succeededMs: undefined, failedMs: undefined, failure: undefined }

export type JobRuns = Map<string, JobRun>

interface RunDeps {
  readonly leader: Pick<Leader, 'leads'>
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly runs: JobRuns
}

/** How often a process that stands by looks whether it leads. */
const STANDBY_MS = 250

/** Runs each job in a loop of its own, while this process leads and until the signal aborts. */
export async function runJobs(
  jobs: readonly OpenJob[],
  deps: RunDeps,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(jobs.map((job) => repeat(job, deps, signal)))
}

async function repeat(job: OpenJob, deps: RunDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { leads } = deps.leader
    if (leads) await runOnce(job, deps, signal)
    else deps.runs.delete(job.name)
    await sleep(leads ? job.everySeconds * 1_000 : STANDBY_MS, signal)
  }
}

async function runOnce(job: OpenJob, { logger, runs }: RunDeps, signal: AbortSignal) {
  const { name } = job
  const before: JobRun = runs.get(name) ?? { ...NEVER, firstMs: performance.now() }
  runs.set(name, before)
  try {
    await job.run(AbortSignal.any([signal, AbortSignal.timeout(job.budgetSeconds * 1_000)]))
    if (before.failure !== undefined) logger.info({ job: name }, 'the job works again')
    runs.set(name, { ...before, succeededMs: performance.now(), failure: undefined })
  } catch (error) {
    // What fails while the process ends, or once another one leads, is no failure of the job.
    if (signal.aborted || error instanceof LeadLostError) return
    const failure = describeReason(error)
    if (before.failure !== failure)
      logger.error({ job: name, err: error }, `a job failed: ${job.whileFailing}; trying again`)
    runs.set(name, { ...before, failedMs: performance.now(), failure })
  }
}

function describeReason(error: unknown): string {
  if (error instanceof AggregateError)
    return [error.message, ...error.errors.map(describeReason)].join(': ').slice(0, REASON_MAX)
  return (error instanceof Error ? error.message : String(error)).slice(0, REASON_MAX)
}

const REASON_MAX = 500
