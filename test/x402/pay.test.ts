import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { auditService } from '../audit-service.ts'
import { startPostgres } from '../postgres.ts'
import { eventually, mintKey } from '../world.ts'
import { newPayer, passBlocks, payingFetch, startX402World, type X402World } from './x402-world.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  describe(engine, () => describeWorld(engine))

function describeWorld(engine: 'SQLite' | 'PostgreSQL'): void {
  let world: X402World
  before(async () => {
    const databaseUrl = engine === 'PostgreSQL' ? await postgres.createDatabase() : undefined
    world = await startX402World(databaseUrl === undefined ? {} : { databaseUrl })
  })
  after(() => world.stop())

  test(`${engine}: a stock client without a key pays a 402 and has its answer and its balance`, async () => {
    const { api, base, origin } = world
    assert.equal((await api.get('/api/stats')).status, 200)
    const refused = await api.get('/api/burns?period=7d')
    assert.equal(refused.status, 402)
    assertOffer(refused.headers, `http://localhost:${new URL(origin).port}/api/burns?period=7d`)
    const payer = await newPayer(base, 5_000_000n)
    const answer = await payingFetch(payer)(`${origin}/api/burns?period=7d`)
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal(answer.headers.get('x-ratelimit-source'), 'prepaid')
    await assertReceipt(world, answer, payer.address)
    const usage = await api.get('/api/usage')
    assert.equal(usage.body.prepaidBalanceUsd, 0.0999)
    assert.equal(usage.body.overageCount, 1)
    assert.equal(usage.body.requestCount, 2)
  })

  test(`${engine}: a stock client with a key raises the balance of that key`, async () => {
    const { api, base, origin, devnet } = world
    await passBlocks(base, 3)
    const key = await eventually(
      () => mintKey(api, devnet.wallets.holder).catch(() => undefined),
      10_000,
    )
    const headers = key.authorization
    assert.equal((await api.get('/api/stats', headers)).status, 200)
    const payer = await newPayer(base, 5_000_000n)
    const answer = await payingFetch(payer)(`${origin}/api/stats`, { headers })
    assert.equal(answer.status, 200, await answer.clone().text())
    await assertReceipt(world, answer, payer.address)
    const usage = await api.get('/api/usage', headers)
    assert.equal(usage.body.prepaidBalanceUsd, 0.0999)
    assert.equal(usage.body.overageCount, 1)
  })

  test(`${engine}: the audit finds nothing`, async () => {
    await passBlocks(world.base, 3)
    await eventually(
      async () => ((await auditService(world)).length === 0 ? true : undefined),
      20_000,
    ).catch(async () => assert.deepEqual(await auditService(world), []))
  })
}

function assertOffer(headers: Headers, url: string): void {
  const offer = decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
  const checked = PaymentRequiredV2Schema.safeParse(offer)
  assert.ok(checked.success, JSON.stringify(checked))
  assert.equal(offer.resource.url, url)
  assert.deepEqual(
    offer.accepts.map((each) => each.amount),
    ['100000', '1000000'],
  )
}

async function assertReceipt(world: X402World, answer: Response, payer: string): Promise<void> {
  const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
  assert.equal(receipt.success, true)
  assert.equal(receipt.network, 'eip155:8453')
  assert.equal(receipt.payer, payer.toLowerCase())
  const sealed = await world.base.rpc.send({
    method: 'eth_getTransactionReceipt',
    params: [receipt.transaction],
  })
  assert.ok(typeof sealed === 'object' && sealed !== null && 'status' in sealed)
  assert.equal(sealed.status, '0x1')
}
