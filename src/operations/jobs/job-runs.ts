import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import type { Holding } from '#operations/jobs/leader.ts'
import { dialectOf } from '#store/dialects.ts'
import type { Connection, Engine, Migration, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Job, JobRun, JobRuns } from './run-jobs.ts'

export const jobRunsMigration = (id: number): Migration => ({
  id,
  name: 'runs of jobs',
  sql: `create table job_runs (
    name text primary key,
    first_ms bigint not null,
    succeeded_ms bigint,
    failed_ms bigint,
    failure text
  )`,
})

const WRITE_EVERY_MS = 5_000

/** Leaves time for a run under way, a change of leaders and the note of the run. */
const GRACE_SECONDS = 30

interface StoreDeps {
  readonly engine: Engine
  readonly clock: Clock
}

/** Notes the newest runs of the leader for other processes, until the signal aborts. */
export async function keepJobRuns(
  deps: StoreDeps & { readonly leader: Holding; readonly runs: JobRuns },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(WRITE_EVERY_MS, signal)
    if (deps.runs.size === 0) continue
    await deps.engine
      .write(async (connection) => {
        await deps.leader.hold(connection)
        for (const [name, run] of deps.runs) await noteRun(connection, deps, name, run)
      })
      // A store that fails now has failed the jobs too.
      .catch(() => undefined)
  }
}

/** Times are those of the store's clock, since every process reads them. */
async function noteRun(
  connection: Connection,
  { engine, clock }: StoreDeps,
  name: string,
  { firstMs, succeededMs, failedMs, failure }: JobRun,
): Promise<void> {
  const at = (ms: number | undefined) =>
    ms === undefined
      ? sql`cast(null as bigint)`
      : sql`${dialectOf(engine).now(clock())} - ${Math.round(performance.now() - ms)}`
  await connection.run(sql`
    insert into job_runs (name, first_ms, succeeded_ms, failed_ms, failure)
    values (${name}, ${at(firstMs)}, ${at(succeededMs)}, ${at(failedMs)}, ${failure ?? null})
    on conflict (name) do update set
      succeeded_ms = coalesce(excluded.succeeded_ms, job_runs.succeeded_ms),
      failed_ms = coalesce(excluded.failed_ms, job_runs.failed_ms), failure = excluded.failure`)
}

/** How a job does, whichever process runs it. */
export interface JobState extends Job {
  /** Seconds since its last success and failure; undefined: none is known. */
  readonly succeededAgo: number | undefined
  readonly failedAgo: number | undefined
  /** Why its last run failed; undefined if it did not. */
  readonly failure: string | undefined
  /** Whether it is late, judged by its last success, else its first run; true if it has never run. */
  readonly isLate: boolean
}

export async function readJobStates(
  { engine, clock }: StoreDeps,
  jobs: readonly Job[],
): Promise<readonly JobState[]> {
  const now = dialectOf(engine).now(clock())
  const rows = await engine.read(sql`
    select name, ${now} - succeeded_ms as succeeded_ago, ${now} - failed_ms as failed_ago, failure,
      ${now} - coalesce(succeeded_ms, first_ms) as waiting_ago from job_runs`)
  const known = new Map(rows.map((row) => [column.text(row, 'name'), toState(row)]))
  return jobs.map((job) => {
    const { waitingAgo, ...state } = known.get(job.name) ?? UNKNOWN
    const lateAfter = job.everySeconds + job.budgetSeconds + GRACE_SECONDS
    return { ...job, ...state, isLate: waitingAgo === undefined || waitingAgo > lateAfter }
  })
}

type Noted = Pick<JobState, 'succeededAgo' | 'failedAgo' | 'failure'> & {
  readonly waitingAgo: number | undefined
}

const UNKNOWN: Noted = {
  succeededAgo: undefined,
  failedAgo: undefined,
  waitingAgo: undefined,
  failure: undefined,
}

function toState(row: Row): Noted {
  const seconds = (name: string) => {
    const ms = column.integerOrNull(row, name)
    return ms === null ? undefined : Math.max(0, Math.round(ms / 1_000))
  }
  return {
    succeededAgo: seconds('succeeded_ago'),
    failedAgo: seconds('failed_ago'),
    waitingAgo: seconds('waiting_ago'),
    failure: column.textOrNull(row, 'failure') ?? undefined,
  }
}
