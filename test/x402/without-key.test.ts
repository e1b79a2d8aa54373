import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startWorld, type World } from '../world.ts'
import { signPayment } from './raw-payment.ts'
import { newPayer } from './x402-world.ts'

describe('without a settling key', () => {
  let world: World
  before(async () => {
    world = await startWorld({
      change: (file) => ({ ...file, quotas: { anonymous: 1, free: 1, premium: 1 } }),
    })
  })
  after(() => world.stop())

  test('a 402 has no offer in its header, a payment changes nothing, and there is no top-up', async () => {
    const { api, devnet } = world
    assert.equal((await api.get('/api/stats')).status, 200)
    const unpaid = await api.get('/api/stats')
    assert.equal(unpaid.status, 402)
    assert.equal(unpaid.headers.get('payment-required'), null)
    const { header } = await signPayment(await newPayer(devnet.chains.base.client, 0n))
    const paid = await api.get('/api/stats', { 'PAYMENT-SIGNATURE': header })
    assert.equal(paid.status, 402)
    assert.equal(paid.text, unpaid.text)
    assert.equal(paid.headers.get('payment-response'), null)
    const topup = await api.get('/api/sessions/topup')
    assert.deepEqual([topup.status, topup.body.error], [404, 'not_configured'])
  })
})
