import assert from 'node:assert/strict'
import type { Outcome } from '#route.ts'
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
  const { dailyCapUsd, expiresAt } = bodyOf<Readonly<Record<string, unknown>>>(
    await harness.call(PATH, call),
  )
  return { dailyCapUsd, expiresAt }
}

const ALL = { dailyCapUsd: 2.5, expiresAt: '2030-01-01T00:00:00Z' }

onBoth('a key sets every limit that it lacks, and reads them back', async (harness) => {
  const key = await harness.mint()
  assert.deepEqual(await limitsOf(harness, key), { dailyCapUsd: null, expiresAt: null })
  assert.equal(codeOf(await byKey(harness, key, ALL)), 200)
  assert.deepEqual(await limitsOf(harness, key), ALL)
})

onBoth('a key tightens each limit and loosens none; its wallet does both', async (harness) => {
  const key = await harness.mint()
  await byKey(harness, key, ALL)
  for (const looser of [
    { dailyCapUsd: 2.500001 },
    { dailyCapUsd: null },
    { expiresAt: '2030-01-01T00:00:01Z' },
    { expiresAt: null },
    { dailyCapUsd: 1, expiresAt: null },
  ]) {
    const refused = await byKey(harness, key, looser)
    assert.equal(codeOf(refused), 'invalid_signature', JSON.stringify(looser))
    assert.deepEqual(await limitsOf(harness, key), ALL, 'and nothing of it was done')
    assert.equal(codeOf(await byWallet(harness, key, looser)), 200)
    assert.deepEqual(await limitsOf(harness, key), { ...ALL, ...looser })
    harness.now.ms += 1_000
    assert.equal(codeOf(await byWallet(harness, key, ALL)), 200)
    harness.now.ms += 1_000
  }
  const tighter = { dailyCapUsd: 0, expiresAt: '2029-01-01T00:00:00Z' }
  assert.equal(codeOf(await byKey(harness, key, tighter)), 200)
  assert.deepEqual(await limitsOf(harness, key), tighter)
})

onBoth('nobody else changes the limits of a key', async (harness) => {
  const key = await harness.mint()
  const other = await harness.mint()
  assert.equal(
    codeOf(await byKey(harness, { ...other, publicId: key.publicId }, { dailyCapUsd: 1 })),
    'not_key_owner',
  )
  const proof = await harness.sign(other.wallet, 'limits', { key: key.publicId })
  const call = { method: 'POST', path: { publicId: key.publicId }, body: proof } as const
  assert.equal(codeOf(await harness.call(PATH, call)), 'not_key_owner')
  const label = await harness.sign(key.wallet, 'label', { key: key.publicId })
  assert.equal(codeOf(await harness.call(PATH, { ...call, body: label })), 'message_wrong_action')
})

onBoth('a request with a mistake changes nothing', async (harness) => {
  const key = await harness.mint()
  for (const body of [
    { expiresAt: '2020-01-01T00:00:00Z', dailyCapUsd: 5 },
    { expiresAt: 'tomorrow' },
    { dailyCapUsd: -1 },
    { dailyCapUsd: '5' },
  ])
    assert.equal(codeOf(await byKey(harness, key, body)), 'invalid_body', JSON.stringify(body))
  const unknown = JSON.parse('{"monthlyCapUsd": 5, "__proto__": {"dailyCapUsd": 5}}')
  assert.equal(codeOf(await byKey(harness, key, unknown)), 200)
  assert.deepEqual(await limitsOf(harness, key), { dailyCapUsd: null, expiresAt: null })
})

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
  assert.equal(codeOf(await byWallet(harness, key, { dailyCapUsd: 1 })), 'key_revoked')
})
