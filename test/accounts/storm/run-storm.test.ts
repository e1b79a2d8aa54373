import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runStorm } from './run-storm.ts'

/** `weather-storm.ts` lasts minutes and states latency and memory too. */
const SECONDS = 4

test('an honest caller meets no 402, 429 or 5xx while floods come at twice the capacity', async () => {
  const result = await runStorm({
    databaseUrl: undefined,
    seconds: SECONDS,
    onProgress: () => undefined,
  })
  const { honest, floods, counted, audit } = result
  assert.deepEqual([...honest.statuses.keys()], [200])
  assert.equal(counted, honest.statuses.get(200))
  assert.deepEqual(floods.unexpected, [])
  for (const what of ['bad keys 401', 'mints 401', 'claims 404', 'deep bodies 400'])
    assert.ok((floods.answers.get(what) ?? 0) > 0, `some were answered ${what}`)
  assert.equal(audit.code, 0, audit.words)
})
