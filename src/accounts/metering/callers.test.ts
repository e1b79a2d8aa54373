import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Engine } from '#db/engine.ts'
import {
  bearer,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { type HoldersRegister, openHoldersRegister } from '#test/callers/holders-register.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { identifyCaller } from './callers.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

let holders: HoldersRegister
before(async () => {
  holders = await openHoldersRegister()
})
after(() => holders.close())

const premium = () => ({ register: holders.register, ecosystem: holders.ecosystem })

function callerOf({ metering }: Harness, secret: string) {
  return metering.identify(bearer(secret).headers, '192.0.2.1')
}

onBoth(
  'on every replica a revocation holds within a second, a new tier within six',
  async (store) => {
    const here = createHarness(store.engine, premium())
    const there = createHarness(store.replica(), premium())
    const wallet = newWallet()
    const { secret, publicId } = await here.mint(wallet)
    there.now.ms = here.now.ms
    await callerOf(there, secret)
    await holders.give(wallet.address, 'base', 2_000n)
    // What was looked up at the last moment of one memory is kept for the whole of the next.
    for (const ms of [4_999, 499]) {
      there.now.ms += ms
      await callerOf(there, secret)
    }
    there.now.ms += 502
    const caller = await callerOf(there, secret)
    assert.equal(caller.kind === 'keyed' && caller.tier, 'premium')
    await here.revoke({ publicId, secret })
    for (const ms of [249, 249, 249]) {
      there.now.ms += ms
      await callerOf(there, secret)
    }
    there.now.ms += 252
    assert.equal((await callerOf(there, secret)).kind, 'refusal')
  },
)

onBoth('a key with money for a call is known to have a balance', async ({ engine }) => {
  const harness = createHarness(engine)
  const { secret, publicId } = await harness.mint()
  const hasBalance = async () => {
    harness.now.ms += 1_000
    const caller = await callerOf(harness, secret)
    return caller.kind === 'keyed' && caller.hasBalance
  }
  assert.equal(await hasBalance(), false)
  await harness.fund(publicId, 100n)
  assert.equal(await hasBalance(), true)
})

/** A replica whose clock a test moves, and whose tiers and key look-ups come when it lets them. */
function createSlowReplica(engine: Engine) {
  const now = { ms: Date.UTC(2026, 10, 21, 12) }
  const tier = createGate()
  const look = createGate()
  const { register } = holders
  const ctx = testContext({
    ...premium(),
    accounts: {
      ...engine,
      read: async (statement) => {
        const rows = await engine.read(statement)
        if (statement.parts.some((part) => part.includes('from keys'))) await look.pass()
        return rows
      },
    },
    register: {
      ...register,
      async snapshot(work) {
        await tier.pass()
        return register.snapshot(work)
      },
    },
    clock: () => now.ms,
  })
  const identify = (secret: string) => identifyCaller(ctx, bearer(secret).headers, '192.0.2.1')
  return { identify, now, tier, look }
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
  const { identify, now, tier } = createSlowReplica(store.replica())
  const asked = tier.shut()
  const call = identify(key.secret)
  await asked
  await here.revoke(key)
  now.ms += 1_000
  tier.open()
  assert.equal((await call).kind, 'refusal')
})

onBoth('a key whose look-up was slow is believed no longer than another', async (store) => {
  const here = createHarness(store.engine)
  const key = await here.mint()
  const { identify, now, tier, look } = createSlowReplica(store.replica())
  const asked = tier.shut()
  const call = identify(key.secret)
  await asked
  now.ms += 1_000
  const read = look.shut()
  tier.open()
  await read
  await here.revoke(key)
  now.ms += 1_000
  look.open()
  assert.equal((await call).kind, 'keyed')
  assert.equal((await identify(key.secret)).kind, 'refusal')
})
