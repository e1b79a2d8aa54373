import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Address } from '#domain/address.ts'
import { shareTiers, walletTiers } from '#domain/tier.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { readTiers } from './holdings.ts'

const START_UNIX = 1_700_000_000
const wallet = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`

/** The lowest asks for 10 thousandths of the supply, the next for 20, and so on. */
const perMilleOf = (place: number) => (place + 1) * 10

test('a wallet has the highest tier whose share of the supply it holds, to the base unit', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const { crypt } = addresses.base
    // Supply: a million base units.
    const needed = shareTiers.map((_, place) => perMilleOf(place) * 1_000)
    const balances = needed.flatMap((amount) => [amount - 1, amount])
    const rest = 1_000_000 - balances.reduce((sum, each) => sum + each, 0)
    const logs = [...balances, rest].map((amount, index) =>
      logOf.mint(crypt, wallet(index + 1), BigInt(amount)),
    )
    const node = await serveChain(beginChain(8453, START_UNIX).add({ logs }).addEmpty(2))
    try {
      const ecosystem = oneTokenEcosystemAt(node.url, (one, { tokens: [, secondary] }) => {
        assert.ok(secondary !== undefined)
        const { price: _, addresses: on, ...token } = secondary
        const tokens = [...one.tokens, { ...token, addresses: { base: on.base ?? '' } }]
        const shares = shareTiers.map(({ name }, place) => [
          name,
          { chain: 'base', supplyPerMille: perMilleOf(place), depthBlocks: 1 },
        ])
        return { ...one, tokens, ...Object.fromEntries(shares) }
      })
      const clock = () => (START_UNIX + 10) * 1_000
      const indexer = startIndexer({ ecosystem, register, clock })
      await indexer.caughtUp()
      await indexer.stop()
      const wallets = balances.map((_, index) => wallet(index + 1))
      const tiers = await readTiers({ register, ecosystem, clock }, wallets)
      const names = walletTiers.map(({ name }) => name)
      const expected = needed.flatMap((_, place) => [names[place], names[place + 1]])
      assert.deepEqual(
        wallets.map((each) => tiers.get(each)),
        expected,
      )
    } finally {
      await node.stop()
    }
  }))

test('without shares every wallet is free, even while the register cannot be read', () =>
  onSqlite([], async ({ engine }) => {
    const register = { ...engine, snapshot: () => Promise.reject(new Error('unreadable')) }
    const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')
    const tiers = await readTiers({ register, ecosystem, clock: Date.now }, [wallet(1)])
    assert.equal(tiers.get(wallet(1)), 'free')
  }))
