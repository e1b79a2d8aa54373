import assert from 'node:assert/strict'
import { parseAddress } from '#domain/address.ts'
import { DEFAULT_QUOTAS } from '#domain/tier.ts'
import type { Engine } from '#store/engine.ts'
import {
  bearer,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { createCallers } from './callers.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

function callerOf({ metering }: Harness, secret: string) {
  return metering.identify(bearer(secret).headers, '192.0.2.1')
}

onBoth('a key is refused at once where it was revoked', async ({ engine }) => {
  const harness = createHarness(engine)
  const { secret, publicId } = await harness.mint()
  await callerOf(harness, secret)
  await harness.revoke({ publicId, secret })
  assert.equal((await callerOf(harness, secret)).kind, 'refusal')
})

onBoth('a revocation and a new tier hold on every replica within a second', async (store) => {
  const here = createHarness(store.engine)
  const there = createHarness(store.replica())
  const wallet = newWallet()
  const { secret, publicId } = await here.mint(wallet)
  there.now.ms = here.now.ms
  const address = parseAddress(wallet.address)
  assert.ok(address !== undefined)
  // What was looked up at the last moment of one memory is kept for the whole of the next.
  await callerOf(there, secret)
  there.premium.add(address)
  for (const ms of [249, 249, 249]) {
    there.now.ms += ms
    await callerOf(there, secret)
  }
  there.now.ms += 252
  const caller = await callerOf(there, secret)
  assert.equal(caller.kind === 'keyed' && caller.tier, 'premium')
  await here.revoke({ publicId, secret })
  for (const ms of [249, 249, 249]) {
    there.now.ms += ms
    await callerOf(there, secret)
  }
  there.now.ms += 252
  assert.equal((await callerOf(there, secret)).kind, 'refusal')
})

/** A replica whose clock a test moves, and whose tiers and key look-ups come when it lets them. */
function createSlowReplica(engine: Engine) {
  const now = { ms: Date.UTC(2026, 10, 21, 12) }
  const tier = createGate()
  const look = createGate()
  const callers = createCallers({
    engine: {
      ...engine,
      read: async (statement) => {
        const rows = await engine.read(statement)
        if (statement.parts.some((part) => part.includes('from keys'))) await look.pass()
        return rows
      },
    },
    clock: () => now.ms,
    keyPrefix: 'svc',
    quotas: { ...DEFAULT_QUOTAS, anonymous: 5, free: 10, premium: 20 },
    judgeTier: async () => {
      await tier.pass()
      return 'free'
    },
  })
  return { callers, now, tier, look }
}

/** Open until it is shut; `reached` resolves with the next who comes. */
function createGate() {
  let shut: PromiseWithResolvers<void> | undefined
  let next = Promise.withResolvers<void>()
  return {
    shut: () => {
      shut = Promise.withResolvers()
      next = Promise.withResolvers()
      return next.promise
    },
    open: () => shut?.resolve(),
    pass: () => {
      next.resolve()
      return shut?.promise
    },
  }
}

onBoth('a key that is revoked while its tier is long in coming is refused', async (store) => {
  const here = createHarness(store.engine)
  const key = await here.mint()
  const { callers, now, tier } = createSlowReplica(store.replica())
  const asked = tier.shut()
  const call = callers.identify(bearer(key.secret).headers, '192.0.2.1')
  await asked
  await here.revoke(key)
  now.ms += 1_000
  tier.open()
  assert.equal((await call).kind, 'refusal')
})

onBoth('a key whose look-up was slow is believed no longer than another', async (store) => {
  const here = createHarness(store.engine)
  const key = await here.mint()
  const { callers, now, tier, look } = createSlowReplica(store.replica())
  const { headers } = bearer(key.secret)
  const asked = tier.shut()
  const call = callers.identify(headers, '192.0.2.1')
  await asked
  now.ms += 1_000
  const read = look.shut()
  tier.open()
  await read
  await here.revoke(key)
  now.ms += 1_000
  look.open()
  assert.equal((await call).kind, 'keyed')
  assert.equal((await callers.identify(headers, '192.0.2.1')).kind, 'refusal')
})
