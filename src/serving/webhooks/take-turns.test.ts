import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeTurns } from '#serving/webhooks/delivery.ts'

const hostile = Array.from({ length: 2_000 }, (_, nth) => webhookOf(`w${nth % 20}`, 'slow.example'))

test('2,000 webhooks of twenty wallets on one slow host do not keep an honest one waiting', () => {
  const honest = webhookOf('honest', 'good.example')
  const turns = takeTurns([...hostile, honest], [])
  assert.ok(turns.includes(honest))
  assert.equal(turns.length, 9, 'the host gets eight requests')
  const slow = turns.filter((each) => each !== honest)
  assert.deepEqual(takeTurns([...hostile, honest], slow), [honest])
})

test('with a host for each webhook, half of all requests stay for wallets that have none', () => {
  const many = hostile.map((_, nth) => webhookOf(`w${nth % 200}`, `h${nth}.example`))
  const honest = webhookOf('honest', 'good.example')
  const taken = takeTurns(many, [])
  assert.ok(taken.length <= 256)
  assert.ok(takeTurns([...many, honest], taken).includes(honest))
})

function webhookOf(wallet: string, host: string) {
  return { webhook: { wallet, url: `https://${host}/` } }
}
