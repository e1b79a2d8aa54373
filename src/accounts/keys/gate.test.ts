import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  bodyOf,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { type HoldersRegister, openHoldersRegister } from '#test/callers/holders-register.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const ONE = 10n ** 18n

let holders: HoldersRegister
before(async () => {
  holders = await openHoldersRegister()
})
after(() => holders.close())

const gated = (guarantee: string, work: (harness: Harness) => Promise<void>) =>
  test(guarantee, () =>
    onSqlite(HARNESS_MIGRATIONS, async ({ engine }) => {
      const { register, gated: ecosystem } = holders
      await work(createHarness(engine, { register, ecosystem }))
    }),
  )

const HELD = [
  { symbol: 'GRAVE', amount: '0', priceUsd: 1, valueUsd: 0 },
  { symbol: 'CRYPT', amount: '99.999999', priceUsd: 1, valueUsd: 99.999999 },
]

gated(
  'C13: only a proven signer learns how far below the gate the wallet is, and the exact minimum passes',
  async (harness) => {
    const wallet = newWallet()
    await holders.give(wallet.address, 'base', 100n * ONE - ONE / 1_000_000n)
    const body = await harness.sign(wallet, 'mint')
    const unsigned = { ...body, signature: (await harness.sign(newWallet(), 'mint')).signature }
    assert.equal(codeOf(await harness.call('/api/keys', { body: unsigned })), 'invalid_signature')
    const refused = await harness.call('/api/keys', { body })
    assert.equal(codeOf(refused), 'holding_gate_not_met')
    const members = { requiredUsd: 100, heldUsd: 99.999999, tokens: HELD }
    assert.deepEqual(refused.kind === 'refusal' && refused.members, members)
    holders.index = 'behind'
    assert.equal(codeOf(await harness.call('/api/keys', { body })), 'gate_unavailable')
    holders.index = 'live'
    await holders.give(wallet.address, 'base', 100n * ONE)
    assert.equal(codeOf(await harness.call('/api/keys', { body })), 201)
  },
)

gated('the gate says what is held, needed and reached, without a signature', async (harness) => {
  const { address } = newWallet()
  const readGate = (of: string) => harness.call('/api/keys/gate', { query: { address: of } })
  await holders.give(address, 'base', 100n * ONE - ONE / 1_000_000n)
  const share = { tier: 'premium', symbol: 'CRYPT', needed: '0.000000000000002' }
  assert.deepEqual(bodyOf(await readGate(address)), {
    ...{ address, canMint: false, requiredUsd: 100, heldUsd: 99.999999, tokens: HELD },
    ...{ tier: 'premium', dailyQuota: 20 },
    tiers: [{ ...share, held: '99.999999', reached: true, dailyQuota: 20 }],
  })
  const { tier, canMint } = bodyOf<Record<string, unknown>>(await readGate(newWallet().address))
  assert.deepEqual([tier, canMint], ['free', false])
  holders.index = 'behind'
  assert.equal(codeOf(await readGate(address)), 'gate_unavailable')
  holders.index = 'live'
  assert.equal(codeOf(await readGate('0x1')), 'invalid_address')
})
