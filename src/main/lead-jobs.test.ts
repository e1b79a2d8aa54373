import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import type { JobRuns } from '#index/run-jobs.ts'
import { leadJobs } from '#main/jobs.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { accountsMigrations } from './stores.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const onPostgres = eachEngine(startPostgres, accountsMigrations, ['postgres'])

const NOON_MS = Date.UTC(2026, 10, 21, 12)

/** Jobs as a process runs them, on a register without blocks. */
function startJobs(
  stores: { readonly register: Engine; readonly accounts: Engine },
  { clock = Date.now, error = () => undefined }: Choice = {},
) {
  const stopping = new AbortController()
  const silent = () => undefined
  const runs: JobRuns = new Map()
  const logger = { debug: silent, info: silent, warn: silent, error }
  const ctx = testContext({ ecosystem: localEcosystemAt({}), ...stores, clock, logger })
  const jobs = { ...ctx, ctx, onChange: silent, runs }
  const ended = leadJobs(jobs, stopping.signal)
  return {
    leads: () => runs.size > 0,
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

interface Choice {
  readonly clock?: () => number
  error?(fields: { readonly job: string; readonly err: unknown }): void
}

onBoth('a job that always fails keeps no other waiting, and says so by name', async (store) => {
  const { engine } = store
  // A register without tables, and nodes that do not answer.
  await onSqlite([], async ({ engine: register }) => {
    const failed: string[] = []
    const jobs = startJobs(
      { register, accounts: engine },
      { clock: () => NOON_MS, error: ({ job }) => failed.push(job) },
    )
    while (failed.length < 2) await sleep(20)
    await sleep(1_500)
    await jobs.stop()
    assert.deepEqual(failed.sort(), ['deposits', 'retention'], 'once, however often it fails')
  })
})

onPostgres(
  'of two verifiers one leads and one waits, until the first is stopped',
  async (store) => {
    const { engine: accounts } = store
    await onSqlite(registerMigrations, async ({ engine: register }) => {
      const first = startJobs({ register, accounts })
      while (!first.leads()) await sleep(20)
      const second = startJobs({ register, accounts })
      await sleep(2_000)
      assert.ok(!second.leads())
      await first.stop()
      while (!second.leads()) await sleep(20)
      await second.stop()
    })
  },
)
