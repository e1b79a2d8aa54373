import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '#test/postgres.ts'
import { runTruth } from './run-truth.ts'

/** `main.ts` does the same with millions of calls, on either engine. */
const CALLS = 900

test('two replicas count callers who abort, deposit, rotate and revoke while they call to the call and the cent', async () => {
  const postgres = await startPostgres()
  after(() => postgres.stop())
  const { violations, answers, compared } = await runTruth({
    calls: CALLS,
    seed: '1',
    audit: true,
    replicas: 2,
    databaseUrl: await postgres.createDatabase(),
    onProgress: () => undefined,
  })
  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 200 prepaid', 'data 402 none', 'bad-key 401 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  assert.ok(compared.exactBucketDays > compared.bucketDays / 2)
})
