import assert from 'node:assert/strict'
import { it } from 'node:test'
import { reportErrors } from './report-errors.ts'

it('a flood of errors is a few lines and a count of the rest', () => {
  const errors: unknown[] = []
  const warnings: unknown[] = []
  let now = 0
  const logger = {
    error: (line: unknown) => void errors.push(line),
    warn: (line: unknown) => void warnings.push(line),
  }
  const report = reportErrors({ logger, clock: () => now })
  now = 20_000
  for (let count = 0; count < 500; count += 1) report(new Error('down'), 'id')
  assert.equal(errors.length, 20)
  now = 30_000
  report(new Error('down'), 'id')
  assert.equal(errors.length, 21)
  assert.deepEqual(warnings, [{ left: 480 }])
})
