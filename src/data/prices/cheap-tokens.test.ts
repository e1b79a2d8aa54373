import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSelector } from 'ox/AbiEvent'
import { encode, from } from 'ox/AbiParameters'
import type { Price } from '#base/money.ts'
import { registerMigrations } from '#data/datasets.ts'
import { addresses } from '#devnet/addresses.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { compilePriceReader, priceSeries } from './dataset.ts'

const POOL = `0x${'99'.repeat(20)}` as const

/** Reads the price of GRAVE in a WETH pool of the given kind. */
function readPrice(kind: 'uniswap-v2' | 'uniswap-v3', data: `0x${string}`): Price | undefined {
  const price = { kind, chain: 'base', address: POOL, quote: 'WETH' } as const
  const tokens = localEcosystem.tokens.map((token, index) =>
    index === 0 ? { ...token, price } : token,
  )
  const [series] = priceSeries(parseEcosystem('mine', { ...localEcosystem, tokens }).tokens)
  assert.ok(series !== undefined)
  const log = logWith(kind, getSelector(series.source.events[0] ?? assert.fail()), data)
  return compilePriceReader(series)(log)?.price ?? undefined
}

function logWith(kind: 'uniswap-v2' | 'uniswap-v3', topic0: `0x${string}`, data: `0x${string}`) {
  const topics = [topic0, ...(kind === 'uniswap-v3' ? [word(1n), word(2n)] : [])]
  const place = { chainId: 8453, blockNumber: 1, logIndex: 0, txIndex: 0, timestamp: 1 }
  const hashes = { blockHash: '0x1', txHash: '0x2' } as const
  return { ...place, ...hashes, address: POOL, topics, data } as const
}

const word = (value: bigint): `0x${string}` => `0x${value.toString(16).padStart(64, '0')}`

test('a swap that leaves no liquidity sets no price, nor does a pool without reserves', () => {
  const types = from('int256, int256, uint160, uint128, int24')
  const sqrtPriceX96 = 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n
  const swapWith = (liquidity: bigint) =>
    readPrice('uniswap-v3', encode(types, [1n, -1n, sqrtPriceX96, liquidity, 887_271]))
  assert.equal(swapWith(0n), undefined)
  assert.equal(readPrice('uniswap-v2', encode(from('uint112, uint112'), [0n, 0n])), undefined)
  assert.equal(readPrice('uniswap-v2', encode(from('uint112, uint112'), [0n, 5n])), undefined)
  assert.equal(readPrice('uniswap-v2', encode(from('uint112, uint112'), [5n, 0n])), undefined)
})

test('a token worth less than a millionth of a dollar has a price and a market cap in /api/stats', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const { grave: token, ethUsdFeed } = addresses.base
    const { gravePair } = addresses.base.market
    const chain = beginChain(8453, 1_700_000_000)
      .add({ logs: [logOf.mint(token, addresses.base.distributor, 10n ** 36n)] })
      .add({ logs: [logOf.answer(ethUsdFeed, 3_000n * 10n ** 8n, 1n)] })
      .add({ logs: [logOf.sync(gravePair, 41n * 10n ** 6n, 10n ** 30n)] })
      .add({ logs: [logOf.sync(gravePair, 10n ** 30n, 41n * 10n ** 6n)] })
      .add({ logs: [logOf.sync(gravePair, 10n ** 30n, 10n ** 30n)] })
    const isToken1 = BigInt(token) > BigInt(addresses.base.weth)
    const cheap = isToken1 ? chain.fork(3) : chain.fork(4)
    const nodes = [
      await serveChain(cheap.addEmpty(70), { finalDepth: 4 }),
      await serveChain(beginChain(1, 1_700_000_000).addEmpty(70), { finalDepth: 4 }),
    ]
    const at = localEcosystemAt({ base: nodes[0]?.url ?? '', ethereum: nodes[1]?.url ?? '' })
    const indexer = startIndexer({ ecosystem: at, register })
    try {
      await indexer.caughtUp()
      const routes = dataRoutesOf({ register, ecosystem: at })
      const data = (await readRoute(routes, '/api/stats')).data as Stats
      assert.equal(data.prices.GRAVE?.usd, 1.23e-19)
      assert.equal(data.prices.GRAVE?.usdExact, '0.000000000000000000123')
      const [shown] = data.tokens
      assert.equal(shown?.priceUsdExact, '0.000000000000000000123')
      assert.equal(shown?.marketCapUsdExact, '0.123')
      const history = await readRoute(routes, '/api/stats/history?metric=price&period=1d')
      const { points } = history.data as History
      assert.deepEqual(
        [points[0]?.value, points[0]?.valueExact],
        [1.23e-19, '0.000000000000000000123'],
      )
    } finally {
      await indexer.stop()
      for (const node of nodes) await node.stop()
    }
  }))

interface Stats {
  readonly prices: Readonly<Record<string, { readonly usd: number; readonly usdExact: string }>>
  readonly tokens: readonly {
    readonly priceUsdExact: string
    readonly marketCapUsdExact: string
  }[]
}

interface History {
  readonly points: readonly { readonly value: number; readonly valueExact: string }[]
}
