import assert from 'node:assert/strict'
import { parseAddress } from '#domain/address.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  bearer,
  bodyOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '../access-harness.ts'

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
  const call = { path: { publicId }, method: 'POST' as const, ...bearer(secret) }
  bodyOf(await harness.call('/api/keys/{publicId}/revoke', call))
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
  const call = { path: { publicId }, method: 'POST' as const, ...bearer(secret) }
  bodyOf(await here.call('/api/keys/{publicId}/revoke', call))
  for (const ms of [249, 249, 249]) {
    there.now.ms += ms
    await callerOf(there, secret)
  }
  there.now.ms += 252
  assert.equal((await callerOf(there, secret)).kind, 'refusal')
})
