import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { HOUR_SECONDS } from '#base/time.ts'
import { latestPrice } from '#data/prices/price-book.ts'
import { accounts } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { proveEcosystem } from '#ops/checks/prove-ecosystem.ts'
import { deployContract, transact } from '#test/deploy-contract.ts'
import {
  localEcosystemAt,
  openSource,
  registerMigrations,
  startIndexer,
} from '#test/indexed-ecosystem.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { base, ethereum } = devnet.chains
const { crypt, weth } = base.client.addresses
const from = accounts.operator
const ether = 10n ** 18n

/** A pool of WETH (0) and CRYPT (1), with a thousand of each. */
async function deployPool(): Promise<Address> {
  const pool = await deployContract(base.client, 'StableSwapPool', [weth, crypt])
  for (const token of [weth, crypt]) {
    await transact(base.client, calls.approveAll({ token, from, spender: pool }))
    const amount = 1_000n * ether
    await transact(base.client, calls.transfer({ token, from, to: pool, amount }))
  }
  return pool
}

async function exchange(pool: Address, sold: 0 | 1, amount: bigint): Promise<void> {
  const data = encodeFunctionData({
    abi: parseAbi(['function exchange(int128, int128, uint256, uint256) returns (uint256)']),
    args: [BigInt(sold), BigInt(1 - sold), amount, 0n],
  })
  await transact(base.client, { from, to: pool, data })
}

const pool = await deployPool()

/** CRYPT priced in the pool. */
const ecosystemWith = (places: { readonly index: number; readonly quoteIndex: number }) =>
  localEcosystemAt({ base: base.rpcUrl, ethereum: ethereum.rpcUrl }, (file) => ({
    ...file,
    gate: 'open',
    tokens: file.tokens.map((token) => {
      const price = {
        kind: 'curve',
        chain: 'base',
        address: pool,
        quote: 'WETH',
        ...places,
      } as const
      return token.symbol === 'CRYPT' ? { ...token, price } : token
    }),
  }))

test('a Curve pool is proven by its coins, and a wrong place is refused with what is there', async () => {
  await exchange(pool, 1, ether)
  await proveEcosystem(ecosystemWith({ index: 1, quoteIndex: 0 }), openSource)
  await assert.rejects(
    proveEcosystem(ecosystemWith({ index: 0, quoteIndex: 1 }), openSource),
    /^ProofError: tokens\[1\]\.price\.index: .* has 0x4200.* as coins\(0\), not CRYPT; write 1/,
  )
  await assert.rejects(
    proveEcosystem(ecosystemWith({ index: 1, quoteIndex: 2 }), openSource),
    /price\.quoteIndex: .* has nothing as coins\(2\), not WETH; write 0/,
  )
})

test('a token has the price of the last trade in its Curve pool, in either direction; dust has none', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const ecosystem = ecosystemWith({ index: 1, quoteIndex: 0 })
    const priceNow = async () => {
      const indexer = startIndexer({ ecosystem, register })
      await indexer.caughtUp()
      await indexer.stop()
      return register.snapshot(async (connection) => {
        // The chain's clock may be ahead of ours.
        const nowUnix = Math.floor(Date.now() / 1_000) + HOUR_SECONDS
        const latest = await latestPrice({ ecosystem }, connection, 'CRYPT', nowUnix)
        const quote = await latestPrice({ ecosystem }, connection, 'WETH', nowUnix)
        assert.ok(!('gap' in latest) && !('gap' in quote))
        assert.equal(latest.source.toLowerCase(), `curve:base:${pool.toLowerCase()}`)
        return Number((latest.price * 1_000_000n) / quote.price) / 1_000_000
      })
    }
    await exchange(pool, 1, ether)
    const sold = await priceNow()
    assert.ok(sold < 1 && sold > 0.999, `one CRYPT brings its value less the fee: ${sold}`)
    await exchange(pool, 0, ether)
    const bought = await priceNow()
    assert.ok(bought > 1 && bought < 1.001, `one CRYPT costs its value and the fee: ${bought}`)
    await exchange(pool, 1, 999_999n)
    assert.equal(await priceNow(), bought)
  }))
