import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sleep } from '#base/async.ts'
import { mine } from '#devnet/actions.ts'
import type { ApiAnswer } from './api-client.ts'
import { startWorld, type World } from './world.ts'
import { signPayment } from './x402/raw-payment.ts'
import { newPayer } from './x402/x402-world.ts'

/** Every route of the service with every status that a caller can bring about on it. */

const DATA_ROUTES = [
  '/api/stats',
  '/api/stats/history',
  '/api/burns',
  '/api/burns/total',
  '/api/burns/recent',
  '/api/dividends/total',
  '/api/dividends/0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '/api/dividends/recent',
  '/api/grave-digs',
  '/api/grave-digs/leaderboard',
  '/api/holders',
  '/api/holders/0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
]

const OPEN_ROUTES = ['/api/usage', '/api/usage/history', '/api/meta', '/healthz', '/readyz']

const SUPPLY_ROUTES = ['/api/supply/total', '/api/supply/circulating']

/** One wrong value of each parameter of each route. */
const WRONG = [
  '/api/stats/history?metric=volume',
  '/api/stats/history?period=30',
  '/api/stats/history?token=DOGE',
  '/api/stats/history?format=xml',
  '/api/burns?period=3651d',
  '/api/burns?chain=solana',
  '/api/burns?token=',
  '/api/burns/total?token=DOGE',
  '/api/burns/recent?limit=0',
  '/api/burns/recent?limit=101',
  '/api/burns/recent?limit=1.5',
  '/api/burns/recent?from=yesterday',
  '/api/burns/recent?from=200&to=100',
  '/api/burns/recent?cursor=garbage',
  '/api/burns/recent?address=0x123',
  '/api/dividends/0x123',
  '/api/dividends/0x70997970C51812dc3A010C7d01b50e0d17dc79c8',
  '/api/dividends/recent?chain=base&chain=base',
  '/api/grave-digs?limit=abc',
  '/api/grave-digs/leaderboard?limit=-1',
  '/api/holders?token=USDC',
  '/api/holders?cursor=garbage',
  '/api/holders/0x123',
  '/api/supply/total?token=USDC',
  '/api/supply/circulating?chain=solana',
  '/api/usage/history?days=0',
  '/api/usage/history?days=31',
  '/api/usage/history?format=xml',
  '/api/keys/message?address=0x123&action=mint',
  '/api/keys/message?address=0x70997970C51812dc3A010C7d01b50e0d17dc79C8&action=steal',
  '/api/sessions/prepay/xyz',
]

/** Enough for the tests before those of 402. */
const QUOTA = 200

const BAD_KEY = { Authorization: 'Bearer svc_00000000_00000000000000000000000000000000' }

describe('every route', () => {
  let world: World
  before(async () => {
    world = await startWorld({
      change: (file) => ({ ...file, quotas: { ...file.quotas, anonymous: QUOTA } }),
    })
    await mine(world.devnet.chains.base.client, { blocks: 1 })
  })
  after(() => world.stop())

  for (const path of [...DATA_ROUTES, ...OPEN_ROUTES])
    test(`200: GET and HEAD ${path}`, async () => {
      const got = await world.api.get(path)
      assert.equal(got.status, 200, got.text)
      const head = await world.api.call(path, { method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.text, '')
    })

  for (const path of SUPPLY_ROUTES)
    test(`200: ${path} is a number, or JSON for those who ask, and costs nothing`, async () => {
      const before = await countOf(world)
      await untilSupply(world, path)
      const json = await world.api.get(path, { Accept: 'application/json' })
      assert.ok(BigInt(json.body.data.supplyRaw) > 0n)
      assert.equal(await countOf(world), before)
    })

  for (const path of DATA_ROUTES)
    test(`304: ${path} unchanged costs nothing`, async () => {
      await untilUnchanged(world, path)
    })

  for (const path of WRONG)
    test(`400: ${path} names what is wrong and costs nothing`, async () => {
      const before = await countOf(world)
      const { status, body } = await world.api.get(path)
      assert.equal(status, 400)
      assert.ok(body.errorMessage.length > 0)
      assert.equal(await countOf(world), before)
    })

  test('200: a header names the parameters that an endpoint does not have, whatever they contain', async () => {
    const odd = encodeURIComponent('a,b\r\nX-Evil: 1')
    const path = `/api/stats?chain=base&${odd}=1&format=json&asOfBlock=5&finality=finalized`
    const { headers, body } = await world.api.get(path)
    assert.equal(headers.get('x-ignored-parameters'), `chain, ${odd}, asOfBlock, finality`)
    assert.equal(headers.get('x-evil'), null)
    assert.ok(!('chain' in body.meta.query))
    const known = await world.api.get('/api/burns/recent?limit=1&chain=base')
    assert.equal(known.headers.get('x-ignored-parameters'), null)
    const refused = await world.api.get('/api/burns?limit=1&period=0d')
    assert.equal(refused.headers.get('x-ignored-parameters'), 'limit')
    const plain = await world.api.get('/api/supply/total?format=json')
    assert.equal(plain.headers.get('x-ignored-parameters'), 'format')
  })

  for (const path of DATA_ROUTES)
    test(`401: ${path} with an unknown key never falls back to anonymous`, async () => {
      const before = await countOf(world)
      const refused = await world.api.get(path, BAD_KEY)
      assert.equal(refused.status, 401)
      assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
      assert.equal(await countOf(world), before)
    })

  for (const path of DATA_ROUTES)
    test(`405: POST ${path} names what is allowed`, async () => {
      const refused = await world.api.post(path, {})
      assert.equal(refused.status, 405)
      assert.match(refused.headers.get('allow') ?? '', /GET/)
    })

  test('404: neighbours and spellings of a path are no way around the meter', async () => {
    const before = await countOf(world)
    for (const path of ['/api/stats/', '//api/stats', '/API/stats', '/api/%73tats', '/api/nothing'])
      assert.equal((await world.api.get(path)).status, 404, path)
    assert.equal(await countOf(world), before)
  })

  for (const path of ['/api/keys', '/api/sessions/prepay', '/api/keys/report-leak'])
    test(`400, 413, 415: POST ${path} with a body that is none`, async () => {
      const headers = { 'Content-Type': 'application/json' }
      const post = (body: string, type = headers) =>
        world.api.call(path, { method: 'POST', headers: type, body })
      assert.equal((await post('{"a":')).body.error, 'invalid_json')
      assert.equal((await post('{}')).body.error, 'invalid_body')
      assert.equal((await post('{"unknown":1}')).body.error, 'invalid_body')
      assert.equal((await post(`{"a":"${'x'.repeat(9_000)}"}`)).status, 413)
      assert.equal((await post('a=1', { 'Content-Type': 'text/plain' })).status, 415)
    })

  test('404: a prepayment and a key that nobody has', async () => {
    const unknown = `0x${'00'.repeat(32)}`
    assert.equal((await world.api.get(`/api/sessions/prepay/${unknown}`)).status, 404)
    const claim = { apiKeyPublicId: '00000000', txHash: unknown, amountUsd: 1 }
    const payerAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const { body } = await world.api.post('/api/sessions/prepay', { ...claim, payerAddress })
    assert.equal(body.error, 'key_not_found')
  })

  for (const path of DATA_ROUTES)
    test(`402: ${path} shows how to pay once the quota is used up`, async () => {
      const refused = await untilRefused(world, path)
      assert.equal(refused.status, 402)
      assert.deepEqual(Object.keys(refused.body), [
        'x402Version',
        'error',
        'errorMessage',
        'accepts',
      ])
      assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
    })

  test('402: a service without a settling key sends no offer, takes no payment and has no top-up', async () => {
    const unpaid = await untilRefused(world, '/api/stats')
    assert.equal(unpaid.headers.get('payment-required'), null)
    const { header } = await signPayment(await newPayer(world.devnet.chains.base.client, 0n))
    const paid = await world.api.get('/api/stats', { 'PAYMENT-SIGNATURE': header })
    assert.equal(paid.status, 402)
    assert.equal(paid.text, unpaid.text)
    assert.equal(paid.headers.get('payment-response'), null)
    const topup = await world.api.get('/api/sessions/topup')
    assert.deepEqual([topup.status, topup.body.error], [404, 'not_configured'])
  })

  for (const path of OPEN_ROUTES)
    test(`200: ${path} stays open to an address without quota`, async () => {
      assert.equal((await world.api.get(path)).status, 200)
    })

  for (const path of SUPPLY_ROUTES) test(`200: ${path} stays open`, () => untilSupply(world, path))
})

async function untilRefused({ api }: World, path: string): Promise<ApiAnswer> {
  for (;;) {
    const answer = await api.get(path)
    if (answer.status !== 200) return answer
  }
}

/** Only chains that are up to date have a supply to show. */
async function untilSupply({ api, devnet }: World, path: string): Promise<void> {
  for (const { client } of Object.values(devnet.chains)) await mine(client, { blocks: 1 })
  for (let tries = 0; tries < 100; tries += 1) {
    const { status, text } = await api.get(path)
    if (status === 200) return assert.match(text, /^[0-9]+([.][0-9]+)?$/)
    assert.equal(status, 503, text)
    await sleep(50)
  }
  assert.fail(`${path} was never up to date`)
}

async function countOf({ api }: World): Promise<number> {
  return (await api.get('/api/usage')).body.requestCount
}

/** A new block may come in between; then the answer is another one and is asked for again. */
async function untilUnchanged(world: World, path: string): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { headers } = await world.api.get(path)
    const before = await countOf(world)
    const again = await world.api.get(path, { 'If-None-Match': headers.get('etag') ?? '' })
    if (again.status !== 304) continue
    assert.equal(await countOf(world), before)
    return
  }
  assert.fail(`${path} was never unchanged`)
}
