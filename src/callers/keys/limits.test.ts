import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '#route/route.ts'
import {
  audited,
  bearer,
  bodyOf,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  type Minted,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { refuseUse } from './limits.ts'

const onBoth = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))
const PATH = '/api/keys/{publicId}/limits'

function byKey(harness: Harness, { publicId, secret }: Minted, body: object): Promise<Outcome> {
  return harness.call(PATH, { method: 'POST', path: { publicId }, body, ...bearer(secret) })
}

async function byWallet(harness: Harness, key: Minted, body: object): Promise<Outcome> {
  const { publicId, wallet } = key
  const proof = await harness.sign(wallet, 'limits', { key: publicId })
  return harness.call(PATH, { method: 'POST', path: { publicId }, body: { ...body, ...proof } })
}

async function limitsOf(harness: Harness, { publicId, secret }: Minted) {
  const call = { path: { publicId }, ...bearer(secret) }
  return bodyOf<{ readonly limits: Readonly<Record<string, unknown>> }>(
    await harness.call(PATH, call),
  ).limits
}

const ALL = {
  dailyPaidCalls: 100,
  monthlyPaidCalls: 1_000,
  endpoints: ['/api/stats', '/api/burns/total'],
  origins: ['https://app.example', 'http://localhost:8080'],
  addresses: ['192.0.2.0/24', '2001:db8::/48'],
  expiresAt: '2030-01-01T00:00:00Z',
  lowBalanceUsd: 2.5,
}

onBoth('a key sets every limit that it lacks, and reads them back', async (harness) => {
  const key = await harness.mint()
  assert.equal(codeOf(await byKey(harness, key, ALL)), 200)
  assert.deepEqual(await limitsOf(harness, key), ALL)
})

onBoth('a key tightens each limit and loosens none; its wallet does both', async (harness) => {
  const key = await harness.mint()
  await byKey(harness, key, ALL)
  for (const looser of [
    { dailyPaidCalls: 101 },
    { monthlyPaidCalls: null },
    { endpoints: null },
    { endpoints: ['/api/burns/total', '/api/holders'] },
    { origins: ['https://app.example', 'https://other.example'] },
    { addresses: ['0.0.0.0/0'] },
    { expiresAt: '2030-01-01T00:00:01Z' },
    { expiresAt: null },
    { lowBalanceUsd: 2 },
    { lowBalanceUsd: null },
    { dailyPaidCalls: 1, monthlyPaidCalls: 1_001 },
  ]) {
    const refused = await byKey(harness, key, looser)
    assert.equal(codeOf(refused), 'invalid_signature', JSON.stringify(looser))
    assert.deepEqual(await limitsOf(harness, key), ALL, 'and nothing of it was done')
    assert.equal(codeOf(await byWallet(harness, key, looser)), 200)
    harness.now.ms += 1_000
    assert.equal(codeOf(await byWallet(harness, key, ALL)), 200)
    harness.now.ms += 1_000
  }
  const tighter = {
    dailyPaidCalls: 99,
    monthlyPaidCalls: 0,
    endpoints: ['/api/stats'],
    origins: ['https://app.example'],
    addresses: ['2001:db8::/48'],
    expiresAt: '2029-01-01T00:00:00Z',
    lowBalanceUsd: 3,
  }
  assert.equal(codeOf(await byKey(harness, key, tighter)), 200)
  assert.deepEqual(await limitsOf(harness, key), tighter)
})

onBoth('a key tightens its addresses to parts of them, and to nothing beside', async (harness) => {
  const key = await harness.mint()
  const before = ['192.0.2.0/24', '198.51.100.7', '2001:db8::/48']
  await byKey(harness, key, { addresses: before })
  for (const addresses of [
    ['192.0.2.0/23'],
    ['192.0.2.0/25', '192.0.3.0/24'],
    ['198.51.100.0/24'],
    ['2001:db8::/47'],
    ['2001:db8:1::/64'],
    ['::/0'],
    ['::ffff:192.0.2.0/64'],
  ]) {
    const refused = await byKey(harness, key, { addresses })
    assert.equal(codeOf(refused), 'invalid_signature', addresses.join())
  }
  const parts = ['192.0.2.0/25', '192.0.2.128/32', '198.51.100.7/32', '2001:db8:0:1::/64']
  assert.equal(codeOf(await byKey(harness, key, { addresses: parts })), 200)
  assert.deepEqual((await limitsOf(harness, key)).addresses, parts)
})

onBoth('nobody else changes the limits of a key', async (harness) => {
  const key = await harness.mint()
  const other = await harness.mint()
  assert.equal(
    codeOf(await byKey(harness, { ...other, publicId: key.publicId }, { dailyPaidCalls: 1 })),
    'not_key_owner',
  )
  const proof = await harness.sign(other.wallet, 'limits', { key: key.publicId })
  const call = { method: 'POST', path: { publicId: key.publicId }, body: proof } as const
  assert.equal(codeOf(await harness.call(PATH, call)), 'not_key_owner')
  const label = await harness.sign(key.wallet, 'label', { key: key.publicId })
  assert.equal(codeOf(await harness.call(PATH, { ...call, body: label })), 'message_wrong_action')
})

onBoth(
  'every mistake of a request is named at once, and nothing of it is done',
  async (harness) => {
    const key = await harness.mint()
    const wrong = {
      origins: ['https://app.example/path', 'https://*.example', 'https://ok.example'],
      addresses: ['192.0.2.0/33', '2001:db8::/65', 'fe80::%eth-0/64'],
      expiresAt: '2020-01-01T00:00:00Z',
      dailyPaidCalls: 5,
    }
    const refused = await byKey(harness, key, wrong)
    assert.ok(refused.kind === 'refusal' && refused.code === 'invalid_body')
    assert.deepEqual(
      refused.errors?.map(({ name }) => name),
      ['expiresAt', 'origins', 'origins', 'addresses', 'addresses', 'addresses'],
    )
    assert.equal((await limitsOf(harness, key)).dailyPaidCalls, null)
    for (const body of [
      { endpoints: ['/api/nothing'] },
      { endpoints: [] },
      { dailyPaidCalls: 1.5 },
      { dailyPaidCalls: '5' },
      { lowBalanceUsd: 1e-9 },
      JSON.parse('{"__proto__": {"dailyPaidCalls": 5}}'),
    ])
      assert.equal(codeOf(await byKey(harness, key, body)), 'invalid_body', JSON.stringify(body))
  },
)

onBoth(
  'a key is 401 from its end on, on another replica too, until its wallet sets a later one',
  async (harness, store) => {
    const key = await harness.mint()
    const replica = createHarness(store.engine)
    replica.now.ms = harness.now.ms
    assert.ok(await replica.isUsable(key.secret))
    const end = new Date(harness.now.ms + 60_000).toISOString().replace(/\.\d+/, '')
    await byKey(harness, key, { expiresAt: end })
    harness.now.ms += 59_000
    assert.ok(await harness.isUsable(key.secret))
    const misplaced = await harness.metering.identify({ 'x-api-key': key.secret }, '192.0.2.1')
    assert.match(misplaced.kind === 'refusal' ? misplaced.message : '', /Authorization: Bearer/)
    for (const each of [harness, replica]) {
      each.now.ms = Date.parse(end)
      const refused = await each.metering.identify(bearer(key.secret).headers, '192.0.2.1')
      assert.ok(refused.kind === 'refusal' && refused.code === 'invalid_api_key')
      assert.match(refused.message, /ended at/)
    }
    await byWallet(harness, key, { expiresAt: '2030-01-01T00:00:00Z' })
    assert.ok(await harness.isUsable(key.secret))
  },
)

onBoth('a revoked key has no limits to change', async (harness) => {
  const key = await harness.mint()
  await harness.revoke(key)
  assert.equal(codeOf(await byWallet(harness, key, { dailyPaidCalls: 1 })), 'key_revoked')
})

const use = { origin: undefined, addressBucket: '192.0.2.7', path: '/api/stats' }
for (const [limits, changed, isAllowed] of [
  [{}, {}, true],
  [{ endpoints: ['/api/stats'] }, {}, true],
  [{ endpoints: ['/api/burns/total'] }, {}, false],
  [{ endpoints: ['/api/burns/total'] }, { path: undefined }, true],
  [{ origins: ['https://a.example'] }, { origin: 'https://a.example' }, true],
  [{ origins: ['https://a.example'] }, { origin: 'https://b.example' }, false],
  [{ origins: ['https://a.example'] }, {}, false],
  [{ origins: ['https://a.example'] }, { origin: ['https://a.example', 'x'] }, false],
  [{ addresses: ['192.0.2.0/24'] }, {}, true],
  [{ addresses: ['192.0.2.8/32'] }, {}, false],
  [{ addresses: ['2001:db8::/48'] }, { addressBucket: '2001:db8:0:1::/64' }, true],
  [{ addresses: ['2001:db8::/48'] }, { addressBucket: '2001:db8:1::/64' }, false],
  [{ addresses: ['0.0.0.0/0'] }, { addressBucket: '2001:db8:1::/64' }, false],
  [{ addresses: ['0.0.0.0/0'] }, { addressBucket: 'unknown' }, false],
] as const)
  test(`a key limited to ${JSON.stringify(limits)} ${isAllowed ? 'may' : 'may not'} be used: ${JSON.stringify(changed)}`, () => {
    const refused = refuseUse(limits, { ...use, ...changed })
    assert.equal(refused?.code, isAllowed ? undefined : 'key_not_allowed')
  })
