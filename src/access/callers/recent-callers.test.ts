import assert from 'node:assert/strict'
import { parseAddress } from '#domain/address.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  bearer,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '../access-harness.ts'
import { createCallers } from './callers.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

/** Who the pipeline takes for the caller: recalled, else looked up. */
async function callerOf({ access }: Harness, secret: string) {
  const { headers } = bearer(secret)
  return (
    access.recall(String(headers.authorization)) ?? (await access.identify(headers, '192.0.2.1'))
  )
}

onBoth('a caller who was just identified is recalled without a look-up', async ({ engine }) => {
  const harness = createHarness(engine)
  const { secret, publicId } = await harness.mint()
  assert.equal(harness.access.recall(`Bearer ${secret}`), undefined)
  const first = await callerOf(harness, secret)
  assert.equal(harness.access.recall(`Bearer ${secret}`), first)
  assert.equal(first.kind === 'keyed' && first.publicId, publicId)
  assert.equal(harness.access.recall('Bearer another'), undefined)
})

onBoth('a revoked key is not recalled where it was revoked', async ({ engine }) => {
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
    quotas: { anonymous: 5, free: 10, premium: 20 },
    isPremium: async () => {
      await tier.pass()
      return false
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
  callers.recall('another')
  tier.open()
  assert.equal((await call).kind, 'refusal')
  assert.equal(callers.recall(`Bearer ${key.secret}`), undefined)
})

onBoth('a key whose look-up was slow is recalled no longer than one at once', async (store) => {
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
  callers.recall('another')
  look.open()
  assert.equal((await call).kind, 'keyed')
  assert.equal(callers.recall(`Bearer ${key.secret}`), undefined)
  assert.equal((await callers.identify(headers, '192.0.2.1')).kind, 'refusal')
})
