import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testContext } from '#test/test-context.ts'
import { reportFailure } from './failure.ts'

test('a flood of errors is a few lines and a count of the rest', () => {
  const errors: unknown[] = []
  const warnings: unknown[] = []
  let now = 0
  const silent = () => undefined
  const ctx = testContext({
    logger: {
      debug: silent,
      info: silent,
      error: (line: unknown) => void errors.push(line),
      warn: (line: unknown) => void warnings.push(line),
    },
    clock: () => now,
  })
  now = 20_000
  for (let count = 0; count < 500; count += 1) reportFailure(ctx, new Error('down'), 'id')
  assert.equal(errors.length, 20)
  now = 30_000
  reportFailure(ctx, new Error('down'), 'id')
  assert.equal(errors.length, 21)
  assert.deepEqual(warnings, [{ left: 480 }])
})
