import assert from 'node:assert/strict'
import { type GrantedQuota, grantQuota, withdrawQuota } from '#callers/keys/granted-quotas.ts'
import { type Address, parseAddress } from '#domain/address.ts'
import { isRefusal } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import {
  assertSound,
  bearer,
  bodyOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  type Minted,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

/** Within which every replica follows. */
const SECOND_MS = 1_000

const walletOf = ({ wallet }: Minted): Address => {
  const address = parseAddress(wallet.address)
  assert.ok(address !== undefined)
  return address
}

const grant = (
  engine: Engine,
  granted: Pick<GrantedQuota, 'wallet' | 'dailyQuota' | 'untilUnix'>,
) => engine.write((tx) => grantQuota(tx, { reason: 'a partner', grantedUnix: 1, ...granted }))

const usageOf = async (harness: Harness, secret: string) => {
  const { tier, dailyQuota, remaining } = bodyOf<Record<string, unknown>>(
    await harness.call('/api/usage', bearer(secret)),
  )
  return [tier, dailyQuota, remaining]
}

onBoth(
  'a granted quota is exact on two replicas, and for all keys of the wallet',
  async (store) => {
    const replicas = [createHarness(store.engine), createHarness(store.replica())] as const
    const [one, other] = replicas
    const first = await one.mint()
    const second = await one.mint(first.wallet)
    const secrets = [first.secret, second.secret]
    for (const { secret } of [first, second]) await other.admit(secret, 6)
    assert.deepEqual(await usageOf(other, first.secret), ['free', 10, 0])
    const untilUnix = unixNow(() => one.now.ms) + 3_600
    await grant(store.engine, { wallet: walletOf(first), dailyQuota: 35, untilUnix })
    for (const { now } of replicas) now.ms += SECOND_MS
    const calls = Array.from({ length: 80 }, async (_, n) => {
      const { metering } = replicas[n % 2] ?? one
      const caller = await metering.identify(bearer(secrets[n % 3 === 0 ? 0 : 1] ?? '').headers, '')
      assert.ok(!isRefusal(caller))
      return (await metering.meter.admit(caller)).kind
    })
    const kinds = await Promise.all(calls)
    assert.equal(kinds.filter((kind) => kind === 'admitted').length, 25)
    assert.deepEqual(await usageOf(one, second.secret), ['free', 35, 0])
    await assertSound(store.engine)
  },
)

onBoth('a granted quota ends within a second of its end, or of being withdrawn', async (store) => {
  const [harness, other] = [createHarness(store.engine), createHarness(store.replica())]
  const key = await harness.mint()
  const wallet = walletOf(key)
  other.now.ms = harness.now.ms
  const pass = (ms: number) => {
    for (const { now } of [harness, other]) now.ms += ms
  }
  const untilUnix = unixNow(() => harness.now.ms) + 60
  await grant(store.engine, { wallet, dailyQuota: 30, untilUnix })
  pass(SECOND_MS)
  await harness.admit(key.secret, 12)
  for (const each of [harness, other])
    assert.deepEqual(await usageOf(each, key.secret), ['free', 30, 18])
  pass(58_000)
  assert.deepEqual(await usageOf(other, key.secret), ['free', 30, 18])
  pass(2 * SECOND_MS)
  for (const each of [harness, other]) {
    assert.deepEqual(await usageOf(each, key.secret), ['free', 10, 0])
    assert.deepEqual(await each.admit(key.secret, 1), [])
  }
  await grant(store.engine, { wallet, dailyQuota: 30, untilUnix: untilUnix + 3_600 })
  pass(SECOND_MS)
  assert.deepEqual(await usageOf(other, key.secret), ['free', 30, 18])
  assert.equal(await store.engine.write((tx) => withdrawQuota(tx, wallet)), true)
  pass(SECOND_MS)
  assert.deepEqual(await usageOf(other, key.secret), ['free', 10, 0])
  await assertSound(store.engine)
})

onBoth(
  'a rotated key has what its wallet was granted, and the larger quota counts',
  async (store) => {
    const harness = createHarness(store.engine)
    const key = await harness.mint()
    const wallet = walletOf(key)
    const untilUnix = unixNow(() => harness.now.ms) + 3_600
    await grant(store.engine, { wallet, dailyQuota: 15, untilUnix })
    harness.now.ms += SECOND_MS
    const rotated = await harness.rotate(key)
    assert.deepEqual(await usageOf(harness, rotated.secret), ['free', 15, 15])
    const { keys } = bodyOf<{ keys: readonly { readonly dailyQuota: number }[] }>(
      await harness.call('/api/keys', bearer(rotated.secret)),
    )
    assert.deepEqual(
      keys.map(({ dailyQuota }) => dailyQuota),
      [15, 15],
    )
    harness.premium.add(wallet)
    harness.now.ms += SECOND_MS
    assert.deepEqual(await usageOf(harness, rotated.secret), ['premium', 20, 20])
    const stranger = await harness.mint()
    assert.deepEqual(await usageOf(harness, stranger.secret), ['free', 10, 10])
  },
)
