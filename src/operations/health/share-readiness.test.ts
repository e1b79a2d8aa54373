import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareReadiness } from './share-readiness.ts'

test('all who ask for the readiness within a second get one reading, after a failure another', async () => {
  let nowMs = 5_000
  let readings = 0
  const readiness = shareReadiness(
    () => nowMs,
    async () => {
      readings += 1
      if (readings === 2) throw new Error('down')
      return { ready: true, parts: { reading: String(readings) } }
    },
  )
  const asked = await Promise.all([readiness(), readiness()])
  assert.deepEqual(
    asked.map(({ parts }) => parts.reading),
    ['1', '1'],
  )
  nowMs += 1_000
  await assert.rejects(readiness(), /down/)
  assert.equal((await readiness()).parts.reading, '3')
  // A clock that is set back must not keep it.
  nowMs -= 10_000
  assert.equal((await readiness()).parts.reading, '4')
})
