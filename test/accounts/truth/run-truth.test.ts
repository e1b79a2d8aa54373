import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '#test/postgres.ts'
import { runTruth, type TruthInput } from './run-truth.ts'

/** `main.ts` does the same with millions of calls. */
const CALLS = 2_500

const common: Omit<TruthInput, 'replicas' | 'databaseUrl'> = {
  calls: CALLS,
  seed: '1',
  audit: true,
  onProgress: () => undefined,
}

test('SQLite: callers who abort, deposit, rotate and revoke while they call are counted to the call and the cent', async () => {
  check(await runTruth({ ...common, replicas: 1, databaseUrl: undefined }))
})

test('PostgreSQL: two replicas count together what callers of both were answered', async () => {
  const postgres = await startPostgres()
  after(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase()
  check(await runTruth({ ...common, replicas: 2, databaseUrl }))
})

function check({ violations, answers, compared }: Awaited<ReturnType<typeof runTruth>>): void {
  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 200 prepaid', 'data 402 none', 'bad-key 401 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  assert.ok(compared.exactBucketDays > compared.bucketDays / 2)
}
