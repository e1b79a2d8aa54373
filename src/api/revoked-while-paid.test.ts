import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuse } from '#domain/refusal.ts'
import { GOOD_KEY, harnessParts, NOON_MS, startHarness } from '#test/http/api-harness.ts'

test('a key that is revoked while another payment pays is refused, and nothing is charged', async () => {
  const now = { ms: NOON_MS, isRevoked: false }
  const { deps } = harnessParts()
  const api = await startHarness({
    clock: () => now.ms,
    rejectUsedPayment: async () => 'credited',
    identify: async (headers) =>
      now.isRevoked ? refuse('invalid_api_key', 'revoked') : deps.identify(headers),
    settle: async (payer) => {
      Object.assign(now, { ms: now.ms + 10_000, isRevoked: true })
      return { kind: 'balance', payer, headers: {} }
    },
  })
  const headers = { authorization: `Bearer ${GOOD_KEY}` }
  const response = await fetch(`${api.origin}/api/thing`, { headers })
  assert.equal(response.status, 401)
  assert.deepEqual([...api.counts.values()], [])
  await api.server.stop()
})
