import assert from 'node:assert/strict'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { eventually } from '#test/world.ts'
import { jobRunsMigration, keepJobRuns, readJobStates } from './job-runs.ts'
import { Leader, leaseMigration } from './leader.ts'
import { type JobRuns, type OpenJob, runJobs } from './run-jobs.ts'

const onBoth = eachEngine(startPostgres, [leaseMigration(1), jobRunsMigration(2)])

const job = (name: string, run: OpenJob['run']): OpenJob => ({
  ...{ name, everySeconds: 0.05, budgetSeconds: 5, whileFailing: 'a test waits' },
  run,
})

onBoth(
  'every process sees the last success and failure of each job, and which is late',
  async (store) => {
    const { engine } = store
    const clock = Date.now
    const works = job('works', async () => undefined)
    const fails = job('fails', () => Promise.reject(new Error('the node is gone')))
    const jobs = [works, fails]
    assert.deepEqual(
      (await readJobStates({ engine, clock }, jobs)).map(({ isLate }) => isLate),
      [true, true],
      'what never ran is late',
    )
    const leader = new Leader({ engine, clock, name: 'verifier' })
    await leader.take()
    const stop = new AbortController()
    const runs: JobRuns = new Map()
    const logger = { info: () => undefined, error: () => undefined }
    const running = [
      runJobs(jobs, { leader, logger, runs }, stop.signal),
      keepJobRuns({ engine, clock, leader, runs }, stop.signal),
    ]
    const states = () => readJobStates({ engine, clock }, jobs)
    await eventually(
      async () => ((await states())[1]?.failedAgo === undefined ? undefined : true),
      20_000,
    )
    const [ok, bad] = await states()
    assert.deepEqual([ok?.isLate, ok?.failure], [false, undefined])
    assert.ok((ok?.succeededAgo ?? 99) < 60)
    assert.deepEqual([bad?.succeededAgo, bad?.failure], [undefined, 'the node is gone'])
    assert.equal(bad?.isLate, false, 'it may still succeed in time')
    const later = await readJobStates({ engine, clock }, [{ ...fails, budgetSeconds: -100 }])
    assert.equal(later[0]?.isLate, true)
    stop.abort()
    await Promise.all(running)
  },
)
