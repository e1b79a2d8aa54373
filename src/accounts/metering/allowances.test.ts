import assert from 'node:assert/strict'
import { parseAddress } from '#domain/address.ts'
import type { Engine } from '#store/engine.ts'
import {
  bearer,
  bodyOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

const tierOf = async (harness: Harness, secret: string) =>
  bodyOf<{ tier: string }>(await harness.call('/api/usage', bearer(secret))).tier

const pass = (harness: Harness, minutes: number) => {
  harness.now.ms += minutes * 60_000 + 1
}

onBoth(
  'a premium wallet stays premium while the index cannot tell, also after a restart',
  async ({ engine, replica }) => {
    const before = createHarness(engine)
    const wallet = newWallet()
    const address = parseAddress(wallet.address)
    assert.ok(address !== undefined)
    before.premium.add(address)
    const { secret } = await before.mint(wallet)
    assert.equal(await tierOf(before, secret), 'premium')
    pass(before, 2)
    assert.equal(await tierOf(before, secret), 'premium')
    const after = createHarness(replica())
    for (const index of ['behind', 'broken'] as const) {
      after.index = index
      assert.equal(await tierOf(after, secret), 'premium', index)
      pass(after, 1)
    }
    after.index = 'live'
    assert.equal(await tierOf(after, secret), 'free')
    after.index = 'behind'
    pass(after, 1)
    assert.equal(await tierOf(after, secret), 'free')
  },
)

onBoth('a wallet that was never judged counts as free', async ({ engine }) => {
  const harness = createHarness(engine)
  harness.index = 'behind'
  const { secret } = await harness.mint()
  assert.equal(await tierOf(harness, secret), 'free')
})

onBoth(
  'nothing is looked up between the commit of a new key and the answer with its secret',
  async ({ engine }) => {
    let judgedAtCommit = 0
    const watched: Engine = {
      ...engine,
      async write(work) {
        const done = await engine.write(work)
        judgedAtCommit = harness.judged
        return done
      },
    }
    const harness = createHarness(watched)
    const { wallet, publicId, secret } = await harness.mint()
    assert.deepEqual([harness.judged, judgedAtCommit], [1, 1], wallet.address)
    pass(harness, 1)
    await harness.rotate({ publicId, secret })
    assert.deepEqual([harness.judged, judgedAtCommit], [2, 2])
  },
)
