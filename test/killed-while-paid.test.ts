import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { createApiClient } from './api-client.ts'
import { prepareService } from './killable-service.ts'
import { eventually, mintKey } from './world.ts'

const CALLS = 400
const AT_ONCE = 32
const PRICE_MICRO_USD = 100
const PAID_MICRO_USD = 1_000_000

test('kill -9 in the middle of 400 paid calls loses no acknowledged debit and charges none twice', async () => {
  const setting = await prepareService({ quotas: { free: 1 } })
  const { base, origin } = setting
  await mine(base, { blocks: 1 })
  let service = await setting.startService()
  const api = await createApiClient(origin)
  const mint = () => mintKey(api, setting.devnet.wallets.holder).catch(() => undefined)
  const key = await eventually(mint, 20_000)
  await prepay(base, api, key.publicId)
  assert.equal((await api.get('/api/stats', key.authorization)).status, 200, 'the one free call')

  const before = await callUntil(origin, key.authorization, {
    calls: CALLS,
    onAcknowledged: (count) => void (count === CALLS / 2 && service.child.kill('SIGKILL')),
  })
  assert.deepEqual(await service.exit, [null, 'SIGKILL'])
  await mine(base, { blocks: 1 })
  service = await setting.startService()
  const { body: usage } = await api.get('/api/usage', key.authorization)
  assert.ok(usage.overageCount >= before.acknowledged, 'an acknowledged debit was lost')
  assert.ok(usage.overageCount <= before.sent, 'more was debited than was asked for')
  assert.equal(
    Math.round(usage.prepaidBalanceUsd * 1e6),
    PAID_MICRO_USD - usage.overageCount * PRICE_MICRO_USD,
  )
  const left = CALLS - usage.overageCount
  const rest = await callUntil(origin, key.authorization, { calls: left })
  assert.equal(rest.acknowledged, left)
  const { body: last } = await api.get('/api/usage', key.authorization)
  assert.equal(last.overageCount, CALLS)
  assert.equal(Math.round(last.prepaidBalanceUsd * 1e6), PAID_MICRO_USD - CALLS * PRICE_MICRO_USD)
  service.child.kill('SIGTERM')
  assert.deepEqual(await service.exit, [0, null], 'SIGTERM ends with exit code 0')
})

async function prepay(
  base: ChainClient,
  api: Awaited<ReturnType<typeof createApiClient>>,
  publicId: string,
): Promise<void> {
  const amount = BigInt(PAID_MICRO_USD)
  const txHash = await payUsdc(base, { from: accounts.holder, to: accounts.payTo, amount })
  const claim = { apiKeyPublicId: publicId, txHash, payerAddress: accounts.holder, amountUsd: 1 }
  const { body } = await api.post('/api/sessions/prepay', claim)
  await mine(base, { blocks: 3 })
  await eventually(async () => {
    const record = await api.get(`/api/sessions/prepay/${body.id}?wait=5`)
    return record.body.verified || undefined
  }, 60_000)
}

/** Sends calls several at once; stops sending at the first connection that breaks. */
async function callUntil(
  origin: string,
  headers: Readonly<Record<string, string>>,
  input: { readonly calls: number; onAcknowledged?(count: number): void },
): Promise<{ readonly sent: number; readonly acknowledged: number }> {
  let sent = 0
  let acknowledged = 0
  let broken = false
  const caller = async () => {
    while (sent < input.calls && !broken) {
      sent += 1
      const answer = await fetch(`${origin}/api/stats`, { headers }).catch(() => undefined)
      if (answer === undefined) broken = true
      else {
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('x-ratelimit-source'), 'prepaid')
        acknowledged += 1
        input.onAcknowledged?.(acknowledged)
        await answer.arrayBuffer().catch(() => undefined)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return { sent, acknowledged }
}
