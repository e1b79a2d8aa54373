import assert from 'node:assert/strict'
import { HOUR_SECONDS } from '#base/time.ts'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { addresses } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import type { Route } from '#route.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { callRoute, dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { advanceAll, commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const START_UNIX = 472_222 * HOUR_SECONDS
const { ethUsdFeed, grave, market, weth } = addresses.base

const feed = (usd: bigint) => logOf.answer(ethUsdFeed, usd * 10n ** 8n, 1n)

/** A pool in which a token costs so many thousandths of an ether. */
function pool(thousandths: bigint) {
  const [own, quote] = [10n ** 21n, thousandths * 10n ** 18n]
  return BigInt(grave) < BigInt(weth)
    ? logOf.sync(market.gravePair, own, quote)
    : logOf.sync(market.gravePair, quote, own)
}

/** Seconds from the start, and what happens: dollars of an ether, or a trade. */
const EVENTS = [
  [60, feed(2_000n)],
  [120, pool(10n)],
  [3_700, pool(20n)],
  [3_800, pool(5n)],
  [3_900, pool(15n)],
  [7_300, feed(4_000n)],
  [14_500, pool(20n)],
  [14_600, undefined],
] as const

/** Open, high, low and close of each hour. */
const CANDLES = [
  [null, 20, 20, 20],
  [20, 40, 10, 30],
  [30, 60, 30, 60],
  [60, 60, 60, 60],
  [60, 80, 60, 80],
]

interface Hour {
  readonly dateUnix: number
  readonly value: number | null
  readonly complete: boolean
  readonly open: number | null
  readonly high: number | null
  readonly low: number | null
  readonly close: number | null
}

async function inWorld(
  register: Engine,
  work: (routes: readonly Route[]) => Promise<void>,
  file?: (file: LocalFile) => EcosystemFile,
) {
  let base = beginChain(8453, START_UNIX)
  let ethereum = beginChain(1, START_UNIX)
  let before = 0
  for (const [second, log] of EVENTS) {
    base = base.add({ secondsApart: second - before, logs: log === undefined ? [] : [log] })
    ethereum = ethereum.add({ secondsApart: second - before, logs: [] })
    before = second
  }
  const depths = { safeDepth: 1, finalDepth: 2 }
  const nodes = [await serveChain(base, depths), await serveChain(ethereum, depths)]
  const urls = { base: nodes[0]?.url ?? '', ethereum: nodes[1]?.url ?? '' }
  const ecosystem = localEcosystemAt(urls, file)
  try {
    await advanceAll(stepIndex(await commitDepsOf(register, ecosystem)), ecosystem.chains)
    await work(dataRoutesOf({ register, ecosystem, clock: () => (START_UNIX + before) * 1_000 }))
  } finally {
    for (const node of nodes) await node.stop()
  }
}

const gravePool = { kind: 'uniswap-v2', address: market.gravePair, quote: 'WETH' } as const

const withFloor = graveBy({ ...gravePool, chain: 'base', minLiquidityUsd: '25000' })

function graveBy(price: NonNullable<EcosystemFile['tokens'][number]['price']>) {
  return (file: LocalFile): EcosystemFile => ({
    ...file,
    tokens: file.tokens.map((token) => (token.symbol === 'GRAVE' ? { ...token, price } : token)),
  })
}

const target = '/api/stats/history?metric=price&interval=hour&period='

onEach('hours of a price are its open, high, low and close in dollars', ({ engine }) =>
  inWorld(engine, async (routes) => {
    const { points } = (await readRoute(routes, `${target}90d`)).data as { points: Hour[] }
    assert.equal(points.length, 90 * 24)
    const own = points.slice(-CANDLES.length)
    assert.deepEqual(
      own.map(({ open, high, low, close }) => [open, high, low, close]),
      CANDLES,
    )
    assert.deepEqual(
      own.map(({ dateUnix, value, complete }) => [dateUnix, value, complete]),
      CANDLES.map((candle, n) => [START_UNIX + n * HOUR_SECONDS, candle[3], n < 4]),
    )
    assert.ok(points.slice(0, -CANDLES.length).every(({ high, close }) => high === close))
    const csv = await callRoute(routes, `${target}1d&format=csv`)
    assert.ok(csv.kind === 'answer')
    assert.match(String(csv.body), /complete,open,high,low,close\r\n/)
  }),
)

onEach('an hour shows no price at which the pool held less than its floor', ({ engine }) =>
  inWorld(
    engine,
    async (routes) => {
      const { points } = (await readRoute(routes, `${target}1d`)).data as { points: Hour[] }
      assert.deepEqual(
        points.slice(-4, -2).map(({ open, high, low, close }) => [open, high, low, close]),
        // Of the block with 5 thousandths, 20,000 dollars were in the pool.
        [
          [20, 40, 20, 30],
          [30, 60, 30, 60],
        ],
      )
    },
    withFloor,
  ),
)

onEach(
  'a day has no candle, and hours of anything else or of more days are refused',
  ({ engine }) =>
    inWorld(engine, async (routes) => {
      const csv = await callRoute(routes, '/api/stats/history?metric=price&format=csv&period=1d')
      assert.ok(csv.kind === 'answer')
      assert.match(String(csv.body), /,complete\r\n/)
      for (const [query, name] of [
        ['interval=hour&metric=supply', 'interval'],
        ['interval=hour&metric=price&period=91d', 'period'],
      ]) {
        const refused = await refusalOf(routes, `/api/stats/history?${query}`)
        assert.deepEqual([refused.code, refused.errors?.[0]?.name], ['invalid_parameter', name])
      }
      const all = (await readRoute(routes, `${target}all`)).data as { points: Hour[] }
      assert.equal(all.points.length, 90 * 24)
    }),
)
