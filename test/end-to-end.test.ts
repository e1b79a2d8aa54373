import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { mine, payUsdc, reorg } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { auditService } from './audit-service.ts'
import { eitherEngine } from './long-version.ts'
import { startPostgres } from './postgres.ts'
import { eventually, mintKey, startWorld, type World } from './world.ts'

/** From a wallet to a paid call, on the embedded stores and on PostgreSQL. */
const postgres = await startPostgres()
after(() => postgres.stop())

const QUOTA = 100

for (const engine of eitherEngine) describe(engine, () => describeWorld(engine))

function describeWorld(engine: 'SQLite' | 'PostgreSQL'): void {
  let world: World
  before(async () => {
    const databaseUrl = engine === 'PostgreSQL' ? await postgres.createDatabase() : undefined
    world = await startWorld({
      ...(databaseUrl !== undefined && { databaseUrl }),
      change: (file) => ({ ...file, quotas: { anonymous: 500, free: QUOTA, premium: QUOTA } }),
    })
  })
  after(() => world.stop())

  test(`${engine}: a wallet mints a key, spends its quota, meets 402, pays and goes on`, async () => {
    await goThroughPayment(world)
  })

  test(`${engine}: a reorg takes a credited deposit back, and its return credits it again`, async () => {
    await loseAndRegainDeposit(world)
  })

  test(`${engine}: the audit finds nothing`, async () => {
    assert.deepEqual(await auditService(world), [])
  })
}

async function goThroughPayment({ api, devnet, origin }: World): Promise<void> {
  await mine(devnet.chains.base.client, { blocks: 3 })
  await mine(devnet.chains.ethereum.client, { blocks: 1 })
  const key = await eventually(
    () => mintKey(api, devnet.wallets.holder).catch(() => undefined),
    10_000,
  )
  await spendQuota(origin, key.authorization, QUOTA)
  const refused = await api.get('/api/stats', key.authorization)
  assert.equal(refused.status, 402)
  assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
  assert.deepEqual(refused.body, {
    x402Version: 1,
    error: 'payment_required',
    errorMessage: 'Daily quota exhausted and no prepaid balance.',
    accepts: [
      {
        scheme: 'exact',
        network: 'base',
        asset: devnet.chains.base.client.addresses.usdc,
        assetSymbol: 'USDC',
        maxAmountRequired: '0.0001',
        payTo: accounts.payTo,
        description: refused.body.accepts[0].description,
        docs: refused.body.accepts[0].docs,
      },
    ],
  })
  const txHash = await payUsdc(devnet.chains.base.client, {
    from: accounts.holder,
    to: accounts.payTo,
    amount: 1_000_000n,
  })
  const claimed = await api.post('/api/sessions/prepay', {
    apiKeyPublicId: key.publicId,
    txHash,
    payerAddress: accounts.holder,
    amountUsd: 1,
  })
  assert.equal(claimed.status, 201)
  assert.equal(claimed.body.verified, false)
  assert.equal(claimed.body.message, 'pending_verification')
  await mine(devnet.chains.base.client, { blocks: 3 })
  const record = await eventually(async () => {
    const { body } = await api.get(`/api/sessions/prepay/${claimed.body.id}?wait=5`)
    return body.verified ? body : undefined
  }, 60_000)
  assert.equal(record.amountUsd, 1)
  const paid = await api.get('/api/stats', key.authorization)
  assert.equal(paid.status, 200)
  assert.equal(paid.headers.get('x-ratelimit-source'), 'prepaid')
  const usage = await api.get('/api/usage', key.authorization)
  assert.equal(usage.body.prepaidBalanceUsd, 0.9999)
  assert.equal(usage.body.overageCount, 1)
  assert.equal(usage.body.requestCount, QUOTA + 1)
}

/** Calls until the quota is used up, several at once, and looks at every answer. */
async function spendQuota(
  origin: string,
  authorization: Readonly<Record<string, string>>,
  calls: number,
): Promise<void> {
  const remaining = new Set<string>()
  let left = calls
  const caller = async () => {
    while (left > 0) {
      left -= 1
      const answer = await fetch(`${origin}/api/stats`, { headers: authorization })
      const { status, headers } = answer
      await answer.arrayBuffer()
      assert.equal(status, 200)
      assert.equal(headers.get('x-ratelimit-source'), 'quota')
      remaining.add(headers.get('x-ratelimit-remaining') ?? '')
    }
  }
  await Promise.all(Array.from({ length: 16 }, caller))
  assert.equal(remaining.size, calls, 'every call took a unit of its own')
}

async function loseAndRegainDeposit({ api, devnet }: World): Promise<void> {
  const base = devnet.chains.base.client
  const key = await eventually(
    () => mintKey(api, devnet.wallets.holder).catch(() => undefined),
    10_000,
  )
  const pay = { from: accounts.holder, to: accounts.payTo, amount: 500_000n }
  const txHash = await payUsdc(base, pay)
  const claim = { apiKeyPublicId: key.publicId, txHash, payerAddress: pay.from, amountUsd: 0.5 }
  const { body } = await api.post('/api/sessions/prepay', claim)
  await mine(base, { blocks: 3 })
  const balance = async () =>
    (await api.get('/api/usage', key.authorization)).body.prepaidBalanceUsd
  await eventually(async () => ((await balance()) === 0.5 ? true : undefined), 30_000)
  await reorg(base, { depth: 5 })
  const reversed = await eventually(async () => {
    const answer = await api.get(`/api/sessions/prepay/${body.id}`)
    return answer.body.status === 'reversed' ? answer.body : undefined
  }, 30_000)
  assert.equal(reversed.verified, false)
  assert.equal(reversed.message, 'reverted_by_reorg')
  assert.equal(await balance(), 0)
}
