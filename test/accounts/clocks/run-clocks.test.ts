import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findFaketime } from '#test/faketime.ts'
import { startPostgres } from '#test/postgres.ts'
import { type ClocksResult, runClocks } from './run-clocks.ts'

/** How long callers go on after each move of the clocks: until midnight has passed on each of them. */
const STAY_MS = 1_800

/** Leaves most of the processor to others; `move-clocks.ts` calls without a pause. */
const PAUSE_MS = 10

let libfaketime: string
before(async () => {
  libfaketime = await findFaketime()
})

test('SQLite: nobody passes the quota of a UTC day and every reset lies ahead while the clock passes midnight and jumps', async () => {
  check(await run(undefined))
})

test('PostgreSQL: two replicas whose clocks are 90 s apart keep the quota of each UTC day together', async () => {
  const postgres = await startPostgres()
  after(() => postgres.stop())
  check(await run(await postgres.createDatabase()))
})

function run(databaseUrl: string | undefined): Promise<ClocksResult> {
  return runClocks({
    libfaketime,
    databaseUrl,
    stayMs: STAY_MS,
    pauseMs: PAUSE_MS,
    onMove: () => undefined,
  })
}

function check({ violations, answers, days }: ClocksResult): void {
  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 402 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  assert.ok(days >= 3, `calls were counted on ${days} days`)
}
