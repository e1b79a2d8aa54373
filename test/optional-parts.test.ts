import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '#config.ts'
import { sql } from '#db/sql.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import { OPTIONAL_PARTS } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localFile } from '#main/local-chains.ts'
import { runService } from '#main/run-service.ts'
import { openStore } from '#main/stores.ts'
import { assertLintFree } from './assert-lint-free.ts'
import { auditService } from './audit-service.ts'
import { isLongVersion } from './long-version.ts'
import { startOwnDevnet } from './start-own-devnet.ts'
import { eventually, mintKey, startWorld, type World } from './world.ts'

/** Ecosystems with missing parts, on a real chain and over HTTP. */

const NOBODY = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** The smallest file: a service, a chain and a token. */
function minimal({ service, chains, tokens }: EcosystemFile): EcosystemFile {
  const [base] = chains
  const [token] = tokens
  assert.ok(base !== undefined && token !== undefined)
  const { base: address = '' } = token.addresses
  const { price: _, ...unpriced } = token
  return { service, chains: [base], tokens: [{ ...unpriced, addresses: { base: address } }] }
}

let devnet: Devnet
before(async () => {
  devnet = await startOwnDevnet()
})
after(() => devnet.stop())

describe('an ecosystem of one chain and one token', () => {
  let world: World
  before(async () => {
    world = await startWorld({ devnet, change: minimal })
  })
  after(() => world.stop())

  test('data endpoints of missing parts answer zeros and empty lists, and name the parts', async () => {
    for (const [path, expected] of Object.entries(EMPTY)) {
      const { status, body, text } = await world.api.get(path)
      assert.equal(status, 200, text)
      assert.deepEqual(body.meta.notConfigured, OPTIONAL_PARTS, path)
      assert.deepEqual(pick(body.data, expected), expected, path)
    }
  })

  test('configured parts are served', async () => {
    const { data } = (await world.api.get('/api/stats')).body
    assert.ok(Number(data.totalSupply) > 0)
    assert.ok(data.holderCount > 0)
    assert.deepEqual(data.prices, {})
    const history = await world.api.get('/api/stats/history?metric=holders&period=3d')
    assert.ok(history.body.data.points.at(-1).value > 0)
    assert.equal((await world.api.get('/readyz')).status, 200)
  })

  test('/api/meta lists only configured parts', async () => {
    const { body } = await world.api.get('/api/meta')
    assert.deepEqual(body.notConfigured, OPTIONAL_PARTS)
    assert.equal(body.pricing, null)
    assert.deepEqual(body.metrics, ['supply', 'holders', 'price', 'marketCap'])
    assert.deepEqual(
      body.tiers.map(({ tier, dailyQuota }: Record<string, unknown>) => [tier, dailyQuota]),
      [['anonymous', 500]],
    )
  })

  test('minting, prepaying and topping up are 404 not_configured and in no document', async () => {
    for (const [method, path] of ABSENT) {
      const body = method === 'POST' ? { body: '{}', headers: JSON_TYPE } : {}
      const refused = await fetch(world.origin + path, { method, ...body })
      assert.equal(refused.status, 404, path)
      assert.equal(refused.headers.get('x-ratelimit-limit'), '500')
      assert.equal(Object(await refused.json()).error, 'not_configured')
    }
    const message = await world.api.get(`/api/keys/message?address=${NOBODY}&action=mint`)
    assert.equal(message.body.error, 'not_configured')
    assert.equal((await fetch(`${world.origin}/problems/not_configured`)).status, 200)
    const paths = Object.keys(Object(world.api.document.paths))
    assert.ok(paths.every((path) => !path.startsWith('/api/sessions')))
  })

  test('the audit passes', async () => {
    assert.deepEqual(await auditService(world), [])
  })

  test('an exhausted quota is 429 until the reset, and payments change nothing', async () => {
    await callEarlierToday(world, 480)
    const usage = async () => (await world.api.get('/api/usage')).body
    assert.equal((await usage()).remaining, 20)
    for (let { remaining } = await usage(); remaining > 0; remaining -= 1) {
      const answer = await fetch(`${world.origin}/api/stats`)
      assert.equal(answer.status, 200)
      await answer.arrayBuffer()
    }
    const refused = await world.api.get('/api/stats')
    assert.equal(refused.status, 429)
    assert.equal(refused.body.error, 'quota_exceeded')
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
    const retryAfter = Number(refused.headers.get('retry-after'))
    const reset = Number(refused.headers.get('x-ratelimit-reset'))
    assert.ok(Math.abs(Date.now() / 1_000 + retryAfter - reset) < 5, String(retryAfter))
    assert.equal(refused.headers.get('payment-required'), null)
    const { requestCount, overageCount, remaining } = await usage()
    assert.deepEqual([requestCount, overageCount, remaining], [500, 0, 0])
  })

  test('the documents are valid and mention no missing part', async () => {
    await assertLintFree(world.api.document)
    assert.equal(/"402":|PAYMENT-/.test(JSON.stringify(world.api.document)), false)
    const llms = await (await fetch(`${world.origin}/llms.txt`)).text()
    const words = llms.replace(/```json.*?```/s, '')
    assert.doesNotMatch(
      words,
      /402|prepay|topup|dividend|grave|burn|premium|mint|USDC|undefined|null,/i,
    )
  })
})

/** As if so many anonymous calls had been counted. */
async function callEarlierToday({ config }: World, calls: number): Promise<void> {
  const accounts = await openStore(config.dataFolder, 'accounts', config.database)
  await accounts.write((tx) => tx.run(sql`update usage_days set used = ${calls}`))
  await accounts.close()
}

test('a settling key is refused without payments', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-refused-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const nowhere = 'http://127.0.0.1:9'
  const environment = { PORT: '0', SEXTON_DATA: folder, SEXTON_METRICS_PORT: 'off' }
  const start = runService({
    config: readConfig({ ...environment, SEXTON_SETTLING_KEY_FILE: '/dev/null' }, { isTty: false }),
    ecosystemName: 'minimal',
    ecosystemFile: minimal(localFile(0, { base: nowhere, ethereum: nowhere })),
    ...{ clock: Date.now, logger: pino({ level: 'silent' }) },
    onProgress: () => undefined,
  })
  await assert.rejects(start, /SEXTON_SETTLING_KEY_FILE: the ecosystem file has no "payment"/)
})

describe('an ecosystem of one token with its gate', () => {
  for (const gate of isLongVersion ? (['open', 'holding'] as const) : (['open'] as const))
    test(`a wallet mints a key through the ${gate} gate and calls with it`, async () => {
      const world = await startWorld({ devnet, change: (file) => gated(file, gate) })
      try {
        const { api } = world
        const { poor, holder } = devnet.wallets
        const wallet = gate === 'open' ? poor : holder
        const key = await eventually(() => mintKey(api, wallet).catch(() => undefined), 10_000)
        const { headers } = await api.get('/api/stats', key.authorization)
        assert.equal(headers.get('x-ratelimit-tier'), 'free')
        assert.equal(headers.get('x-ratelimit-limit'), '2000')
        if (gate === 'holding') await assert.rejects(mintKey(api, poor), /holding_gate_not_met/)
        const { tiers } = (await api.get('/api/meta')).body
        assert.match(
          tiers[1].requires,
          gate === 'open' ? /minted by any wallet/ : /holds 1 USD of GRAVE on base/,
        )
      } finally {
        await world.stop()
      }
    })
})

function gated(file: EcosystemFile, gate: 'open' | 'holding'): EcosystemFile {
  const least = minimal(file)
  const tokens = least.tokens.map((token) => ({
    ...token,
    price: { kind: 'fixed' as const, usd: '1' },
  }))
  const holding = { chain: 'base', minimumUsd: '1', depthBlocks: 0, averagePriceMinutes: 1 }
  return { ...least, tokens, gate: gate === 'open' ? gate : holding }
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

const ABSENT = [
  ['POST', '/api/keys'],
  ['POST', '/api/sessions/prepay'],
  ['GET', `/api/sessions/prepay/0x${'00'.repeat(32)}`],
  ['GET', '/api/sessions/topup'],
  ['POST', '/api/sessions/topup'],
] as const

/** Answers of data endpoints for missing parts. */
const EMPTY: Readonly<Record<string, object>> = {
  '/api/stats': {
    totalBurned: '0',
    burnedPct: 0,
    lifetimeDividendsUsdAtPayout: 0,
    lifetimeDividends: [],
    graveDigs: { count: 0, totalClaimed: '0', totalClaimedRaw: '0' },
  },
  '/api/stats/history?metric=dividends&period=all': { token: 'all', unit: 'usd' },
  '/api/burns/total': { totalBurned: '0', burnCount: 0, firstBurnUnix: null },
  '/api/burns/recent': [],
  '/api/dividends/total': { payoutCount: 0, totalUsdAtPayout: 0, recipientCount: 0, tokens: [] },
  [`/api/dividends/${NOBODY}`]: { address: NOBODY, claims: [] },
  '/api/dividends/recent': [],
  '/api/grave-digs': [],
  '/api/grave-digs/leaderboard': [],
}

/** The compared members of `data`; lists are compared whole. */
function pick(data: object, expected: object): object {
  if (Array.isArray(expected)) return data
  const names = Object.keys(expected)
  return Object.fromEntries(Object.entries(data).filter(([name]) => names.includes(name)))
}
