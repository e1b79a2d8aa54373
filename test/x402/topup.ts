import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { PaymentRequiredV1Schema } from '@x402/core/schemas'
import { signPayment } from './raw-payment.ts'
import { sharedWorld } from './shared-world.ts'
import { mintOpened, newPayer, olderFetch, payingFetch, type X402World } from './x402-world.ts'

const FUNDS = 20_000_000n
const TOPUP = '/api/sessions/topup'

describe('the top-up resource', () => {
  let world: X402World
  before(() => {
    world = sharedWorld('SQLite')
  })

  test('without a payment it is 402 with a body of x402 version 1, also while quota is left', async () => {
    const { status, body, headers } = await world.api.get(`${TOPUP}?usd=1`)
    assert.equal(status, 402)
    const checked = PaymentRequiredV1Schema.safeParse(body)
    assert.ok(checked.success, JSON.stringify(checked))
    assert.equal(body.accepts[0].maxAmountRequired, '1000000')
    assert.ok(headers.has('payment-required'))
    assert.equal((await world.api.call(TOPUP, { method: 'POST' })).status, 402)
  })

  test('a client of version 2 pays it, by GET and by POST', async () => {
    const payer = await newPayer(world.base, FUNDS)
    const before = await balanceOf(world)
    for (const method of ['GET', 'POST']) {
      const answer = await payingFetch(payer)(world.origin + TOPUP, { method })
      assert.equal(answer.status, 200, await answer.clone().text())
      const body = await bodyOf(answer)
      assert.equal(body.creditedUsd, 0.1)
      assert.equal(body.payerAddress, payer.address)
    }
    assert.equal(await balanceOf(world), before + 0.2)
  })

  test('a client of version 1, which knows no header but X-PAYMENT, pays it', async () => {
    const payer = await newPayer(world.base, FUNDS)
    const before = await balanceOf(world)
    const answer = await olderFetch(payer)(world.origin + TOPUP)
    assert.equal(answer.status, 200, await answer.clone().text())
    const receipt = decodePaymentResponseHeader(answer.headers.get('x-payment-response') ?? '')
    assert.equal(receipt.success, true)
    assert.equal(receipt.network, 'base')
    assert.equal(await balanceOf(world), Number((before + 0.1).toFixed(6)))
  })

  test('anyone may pay for a key, and sees no balance of it', async () => {
    const { base, devnet, origin } = world
    const key = await mintOpened(world, devnet.wallets.holder)
    const payer = await newPayer(base, FUNDS)
    const answer = await payingFetch(payer)(`${origin}${TOPUP}?usd=1&key=${key.publicId}`)
    assert.equal(answer.status, 200, await answer.clone().text())
    const body = await bodyOf(answer)
    assert.equal(body.apiKeyPublicId, key.publicId)
    assert.equal(body.prepaidBalanceUsd, null)
    const own = await payingFetch(payer)(`${origin}${TOPUP}`, { headers: key.authorization })
    assert.equal((await bodyOf(own)).prepaidBalanceUsd, 1.1)
  })

  test('a payment of another sum than was asked for is 402, a used one 409, an unknown key 404', async () => {
    const { api, base } = world
    const payer = await newPayer(base, FUNDS)
    const { header } = await signPayment(payer)
    const pay = (query: string) => api.get(`${TOPUP}${query}`, { 'PAYMENT-SIGNATURE': header })
    assert.equal((await pay('?usd=1')).status, 402)
    assert.equal((await pay('?key=00000000')).status, 404)
    assert.equal((await pay('')).status, 200)
    assert.equal((await pay('')).status, 409)
    assert.equal((await api.get(`${TOPUP}?usd=0.09`)).status, 400)
  })
})

async function balanceOf({ api }: X402World): Promise<number> {
  return (await api.get('/api/usage')).body.prepaidBalanceUsd
}

async function bodyOf(answer: Response): Promise<Readonly<Record<string, unknown>>> {
  return (await answer.json()) as Readonly<Record<string, unknown>>
}
