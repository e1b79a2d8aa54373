import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GOOD_KEY, NOON_MS, startHarness } from '#test/http/api-harness.ts'

test('a key that is revoked while another payment pays is refused, and nothing is charged', async () => {
  const now = { ms: NOON_MS }
  const api = await startHarness({
    clock: () => now.ms,
    rejectUsedPayment: async () => 'credited',
    settle: async () => {
      now.ms += 10_000
      api.revokeKey()
      return { kind: 'balance', headers: {} }
    },
  })
  const headers = { authorization: `Bearer ${GOOD_KEY}` }
  const response = await fetch(`${api.origin}/api/thing`, { headers })
  assert.equal(response.status, 401)
  assert.equal(api.counts.size, 0)
  await api.server.stop()
})
