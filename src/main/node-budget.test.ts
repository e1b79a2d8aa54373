import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openNodeBudget } from './node-budget.ts'

function spend(budget: ReturnType<typeof openNodeBudget>, bucket: string, times: number) {
  for (let time = 0; time < times; time += 1) budget.spend(bucket)
}

test('a caller who spent his requests to nodes is refused, and nobody else', () => {
  const budget = openNodeBudget(() => 0)
  spend(budget, 'a', 1_000)
  assert.equal(budget.refusal('a')?.code, 'rate_limited')
  assert.equal(budget.refusal('b'), undefined)
})

test('all callers together have a budget, which comes back', () => {
  const now = { ms: 0 }
  const budget = openNodeBudget(() => now.ms)
  for (let caller = 0; caller < 200; caller += 1) spend(budget, `caller ${caller}`, 50)
  assert.equal(budget.refusal('b')?.code, 'data_not_ready')
  now.ms = 1_000
  assert.equal(budget.refusal('b'), undefined)
})
