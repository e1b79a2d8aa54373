import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { parseAddress } from '#base/address.ts'
import type { Engine } from '#db/engine.ts'
import {
  bearer,
  bodyOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { type HoldersRegister, openHoldersRegister } from '#test/callers/holders-register.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { readShares } from './tier.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

let holders: HoldersRegister
before(async () => {
  holders = await openHoldersRegister()
})
after(() => holders.close())

const premium = () => ({ register: holders.register, ecosystem: holders.ecosystem })

const tierOf = async (harness: Harness, secret: string) =>
  bodyOf<{ tier: string }>(await harness.call('/api/usage', bearer(secret))).tier

const pass = (harness: Harness, minutes: number) => {
  harness.now.ms += minutes * 60_000 + 1
}

function newAddress() {
  const address = parseAddress(newWallet().address)
  assert.ok(address !== undefined)
  return address
}

onBoth(
  'premium is a thousandth of the supply of all chains, to the base unit, held on any of them',
  async () => {
    const ctx = testContext({ ...premium(), clock: () => Date.UTC(2026, 10, 21, 12) })
    const [short, enough] = [newAddress(), newAddress()]
    await holders.give(short, 'base', 1_999n)
    await holders.give(enough, 'base', 1_000n)
    await holders.give(enough, 'ethereum', 1_000n)
    const shares = await Promise.all([short, enough].map((each) => readShares(ctx, each)))
    const common = { tier: 'premium', symbol: 'CRYPT', needed: '0.000000000000002' }
    assert.deepEqual(shares, [
      [{ ...common, held: '0.000000000000001999', reached: false }],
      [{ ...common, held: '0.000000000000002', reached: true }],
    ])
    holders.index = 'behind'
    assert.equal(await readShares(ctx, enough), undefined)
    holders.index = 'live'
  },
)

onBoth('without shares every wallet is free, whatever the register', async () => {
  const wallet = newAddress()
  const ecosystem = { ...holders.ecosystem, premium: null }
  assert.deepEqual(await readShares(testContext({ ecosystem }), wallet), [])
})

onBoth(
  'a premium wallet stays premium while the index cannot tell, also after a restart',
  async ({ engine, replica }) => {
    const before = createHarness(engine, premium())
    const wallet = newWallet()
    await holders.give(wallet.address, 'base', 2_000n)
    const { secret } = await before.mint(wallet)
    assert.equal(await tierOf(before, secret), 'premium')
    pass(before, 2)
    assert.equal(await tierOf(before, secret), 'premium')
    const after = createHarness(replica(), premium())
    for (const index of ['behind', 'broken'] as const) {
      holders.index = index
      assert.equal(await tierOf(after, secret), 'premium', index)
      pass(after, 1)
    }
    holders.index = 'live'
    await holders.give(wallet.address, 'base', 0n)
    assert.equal(await tierOf(after, secret), 'free')
    holders.index = 'behind'
    pass(after, 1)
    assert.equal(await tierOf(after, secret), 'free')
    holders.index = 'live'
  },
)

onBoth('a wallet that was never judged counts as free', async ({ engine }) => {
  holders.index = 'behind'
  const harness = createHarness(engine, premium())
  const { secret } = await harness.mint()
  assert.equal(await tierOf(harness, secret), 'free')
  holders.index = 'live'
})

onBoth(
  'nothing is looked up between the commit of a new key and the answer with its secret',
  async ({ engine }) => {
    let askedAtCommit = 0
    const watched: Engine = {
      ...engine,
      async write(work) {
        const done = await engine.write(work)
        askedAtCommit = holders.asked
        return done
      },
    }
    const harness = createHarness(watched, premium())
    holders.asked = 0
    const { publicId, secret } = await harness.mint()
    assert.deepEqual([holders.asked, askedAtCommit], [1, 1])
    pass(harness, 1)
    await harness.rotate({ publicId, secret })
    assert.deepEqual([holders.asked, askedAtCommit], [2, 2])
  },
)
