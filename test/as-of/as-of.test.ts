import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { METRICS } from '#chains/statistics/metrics.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Route } from '#route/route.ts'
import { type BuiltBlock, BuiltChain } from '#test/chain-builder/built-chain.ts'
import { live } from '#test/chain-builder/random-life.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { isLongVersion } from '#test/long-version.ts'
import { callRoute, readRoute } from '#test/route-reader.ts'
import { advanceAll, buildAnew, commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import {
  answerTo,
  busyBlock,
  finalDepth,
  freshSqlite,
  grow,
  indexAll,
  inWorld,
  lifeStep,
  QUESTIONS,
  routesOf,
  takeStep,
  useStores,
  type World,
  worldTest,
} from './as-of-harness.ts'

useStores()

/** A few in every run of the tests; a failure tells its seed. */
const runs = Number(process.env.RANDOM_RUNS ?? (isLongVersion ? 100 : 2))

const IMMUTABLE = 'private, max-age=31536000, immutable'

const life = fc.record({
  steps: fc.array(lifeStep, { minLength: 8, maxLength: 30 }),
  shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }),
})

test('an answer as of a block is what a register that ends there answers, after any reorgs', async () => {
  await fc.assert(
    fc.asyncProperty(life, ({ steps, shares }) =>
      inWorld(async (world) => {
        for (const each of steps) await takeStep(world, each)
        await indexAll(world)
        for (const share of shares) await compareAt(world, share)
      }),
    ),
    { numRuns: runs },
  )
})

worldTest('a block counts without later blocks of its second', async (world) => {
  const { base } = world.nodes
  for (const name of ['base', 'ethereum'] as const) grow(world, name, 3, 1)
  const { number } = base.chain.head
  for (const size of [7, 9]) base.chain = live(base.chain, 'base', [busyBlock(number, size)])
  await indexAll(world)
  await comparePoint(world, base.chain.at(number))
  await comparePoint(world, base.chain.at(number + 1))
  // Without a burn of its own, too.
  const quiet = base.chain.addEmpty(1)
  base.chain = live(quiet, 'base', [busyBlock(number, 8)])
  await indexAll(world)
  await comparePoint(world, quiet.head)
  assert.equal(base.chain.at(number + 1).timestamp, base.chain.at(number).timestamp)
})

worldTest(
  'long histories are read in parts: many events before the block, many after it',
  async (world) => {
    const { base } = world.nodes
    grow(world, 'base', 2, 1)
    const many = (at: number) =>
      Array.from({ length: 150 }, (_, n) => ({
        ...({ kind: n % 2 === 0 ? 'dig' : 'claim', who: n < 75 ? 1 : n % 6 } as const),
        ...{ whom: n % 4, size: 1 + ((at + n) % 50) },
      }))
    const blocks = Array.from({ length: 64 }, (_, at) => ({
      secondsApart: at % 2 === 0 ? 40_000 : 0,
      deeds: many(at),
    }))
    base.chain = live(base.chain, 'base', blocks)
    await indexAll(world)
    for (const number of [21, 61]) await comparePoint(world, base.chain.at(number))
  },
)

worldTest(
  'final answers keep their bytes: after further blocks, and in a register that is built anew',
  async (world) => {
    for (const name of ['base', 'ethereum'] as const) grow(world, name, 14, 1)
    await indexAll(world)
    const points = [
      'asOfBlock=base:3',
      'asOfBlock=ethereum:4,base:2',
      `asOfUnix=${world.nodes.base.chain.at(3).timestamp + 9}`,
    ]
    const [routes = [], others = []] = world.routes
    const before = await textsAt(routes, points)
    assert.deepEqual(await textsAt(others, points), before)
    for (const name of ['base', 'ethereum'] as const) grow(world, name, 40, 3)
    await indexAll(world)
    for (const each of world.routes) assert.deepEqual(await textsAt(each, points), before)
    const fresh = await freshSqlite()
    const lived = world.indexes[0]?.deps.engine
    assert.ok(lived !== undefined)
    await buildAnew({ lived, fresh, ecosystem: world.ecosystem })
    assert.deepEqual(await textsAt(routesOf(fresh, world.ecosystem), points), before)
    await fresh.close()
  },
)

worldTest(
  'pages as of a block stay as they are while blocks come, and take no other cursor',
  async (world) => {
    grow(world, 'base', 12, 2)
    await indexAll(world)
    for (const routes of world.routes) {
      const whole = await readRoute(routes, '/api/grave-digs?asOfBlock=base:11&limit=100')
      const found: unknown[] = []
      for (let cursor = ''; ; ) {
        const path = `/api/grave-digs?asOfBlock=base:11&limit=7${cursor}`
        const { data, meta } = await readRoute(routes, path)
        found.push(...(data as unknown[]))
        grow(world, 'base', 1, 3)
        await indexAll(world)
        const { nextCursor } = (meta as unknown as { page: { nextCursor: string | null } }).page
        if (nextCursor === null) break
        cursor = `&cursor=${nextCursor}`
        const other = await callRoute(routes, `/api/grave-digs?asOfBlock=base:10${cursor}`)
        assert.equal(other.kind === 'refusal' && other.code, 'invalid_cursor')
      }
      assert.ok(found.length > 7)
      assert.deepEqual(comparable(found), comparable(whole.data))
    }
  },
)

worldTest(
  'pages of final events stay as they are while more blocks become final',
  async (world) => {
    grow(world, 'base', 20, 2)
    await indexAll(world)
    const [routes = []] = world.routes
    const first = await readRoute(routes, '/api/grave-digs?finality=finalized&limit=5')
    const { nextCursor } = (first.meta as unknown as { page: { nextCursor: string } }).page
    const path = `/api/grave-digs?finality=finalized&limit=5&cursor=${nextCursor}`
    const before = await readRoute(routes, path)
    grow(world, 'base', 3, 2)
    await indexAll(world)
    assert.deepEqual((await readRoute(routes, path)).data, before.data)
    const rows = [first, before].flatMap(({ data }) => data as { finality: string }[])
    assert.ok(rows.every(({ finality }) => finality === 'finalized'))
  },
)

worldTest('the figures of final blocks are those as of the final blocks', async (world) => {
  for (const name of ['base', 'ethereum'] as const) grow(world, name, 20, 1)
  await indexAll(world)
  for (const routes of world.routes)
    for (const path of QUESTIONS) {
      const { data } = await readRoute(routes, `${path}&finality=finalized`)
      const asOf = await readRoute(routes, `${path}&asOfBlock=base:12,ethereum:12`)
      assert.deepEqual(data, asOf.data, path)
    }
})

worldTest(
  'statistics of final blocks: sums and prices there, supply and holders of whole days',
  async (world) => {
    const { base, ethereum } = world.nodes
    grow(world, 'base', 20, 1)
    const blocks = Array.from({ length: 20 }, (_, at) => ({
      ...busyBlock(at, 2),
      secondsApart: 29_900,
    }))
    ethereum.chain = live(ethereum.chain, 'ethereum', blocks)
    await indexAll(world)
    const cut = { base: truncate(base.chain, 12), ethereum: truncate(ethereum.chain, 12) }
    const paths = METRICS.map((metric) => `/api/stats/history?metric=${metric}&period=all`)
    const expected = await bodiesOf(world, cut, { paths, asOfUnix: 0 })
    for (const routes of world.routes)
      for (const [index, path] of paths.entries()) {
        const { data } = await readRoute(routes, `${path}&finality=finalized`)
        const [shown, ends] = [data, expected.get(path)].map(pointsOf)
        assert.ok(shown !== undefined && ends !== undefined)
        const ofDays = ['supply', 'holders'].includes(METRICS[index] ?? '')
        // The last day is not whole.
        if (ofDays) ends.splice(-1, 1, { ...ends.at(-2), ...dayOf(ends.at(-1)) })
        if (METRICS[index] === 'marketCap') for (const each of [shown, ends]) each.pop()
        assert.deepEqual(shown, ends, path)
      }
    const [routes = []] = world.routes
    const { data, meta } = await readRoute(routes, '/api/stats?finality=finalized')
    const stats = data as Record<string, unknown>
    const supply = pointsOf((await readRoute(routes, `${paths[0]}&finality=finalized`)).data).at(-1)
    assert.equal(stats.circulatingSupply, supply?.valueExact)
    const { asOfUnix, query } = meta as Record<string, unknown>
    assert.equal(asOfUnix, cut.base.head.timestamp)
    assert.deepEqual(query, { finality: 'finalized' })
  },
)

interface Point {
  readonly date?: unknown
  readonly dateUnix?: unknown
  readonly complete?: unknown
  readonly valueExact?: unknown
}

function pointsOf(data: unknown): Point[] {
  return [...(data as { readonly points: readonly Point[] }).points]
}

function dayOf({ date, dateUnix, complete }: Point = {}): Point {
  return { date, dateUnix, complete }
}

/** As of a block of base, whose prices count, or of a moment. */
async function compareAt(world: World, share: number): Promise<void> {
  const { base } = world.nodes
  const block = base.chain.at(Math.floor(share * base.chain.head.number))
  const isMoment = (share * 1_000) % 1 < 0.4
  const asOfUnix = block.timestamp + Number(isMoment)
  await comparePoint(world, isMoment ? asOfUnix : block)
}

async function comparePoint(world: World, point: BuiltBlock | number): Promise<void> {
  const { base, ethereum } = world.nodes
  const isMoment = typeof point === 'number'
  const asOfUnix = isMoment ? point : point.timestamp
  const ofBase = isMoment ? upTo(base.chain, point) : truncate(base.chain, point.number)
  // Events are valued at the end of their second, also by later blocks of it.
  const isValued = !movesPrice(upTo(base.chain, asOfUnix), ofBase.head)
  const cut = { base: ofBase, ethereum: upTo(ethereum.chain, asOfUnix) }
  const expected = await bodiesOf(world, cut, { paths: QUESTIONS, asOfUnix })
  const parameter = isMoment ? `asOfUnix=${asOfUnix}` : `asOfBlock=base:${point.number}`
  for (const routes of world.routes)
    for (const path of QUESTIONS) {
      const { data, meta } = await readRoute(routes, `${path}&${parameter}`)
      const [shown, wanted] = [data, expected.get(path)].map((each) => comparable(each, isValued))
      assert.deepEqual(shown, wanted, `${path}&${parameter}`)
      assertMeta(meta, cut, asOfUnix)
    }
}

function truncate(chain: BuiltChain, number: number): BuiltChain {
  return new BuiltChain(chain.chainId, chain.blocks.slice(0, number + 1), 'cut')
}

function upTo(chain: BuiltChain, unix: number): BuiltChain {
  return truncate(
    chain,
    chain.blocks.findLastIndex(({ timestamp }) => timestamp <= unix),
  )
}

function movesPrice(chain: BuiltChain, after: BuiltBlock): boolean {
  const { ethUsdFeed, market } = addresses.base
  const sources = [ethUsdFeed, market.gravePair, market.cryptPair].map((each) => each.toLowerCase())
  const later = chain.blocks.slice(after.number + 1)
  return later.some(({ logs }) =>
    logs.some(({ address }) => sources.includes(address.toLowerCase())),
  )
}

/** The plain answers of a register of the chains that end there. */
async function bodiesOf(
  world: World,
  cut: Readonly<Record<'base' | 'ethereum', BuiltChain>>,
  { paths, asOfUnix }: { readonly paths: readonly string[]; readonly asOfUnix: number },
): Promise<ReadonlyMap<string, unknown>> {
  const missing = asOfUnix - cut.base.head.timestamp
  const nodes = [
    // Its newest block has the time of the figures.
    await serveChain(missing > 0 ? cut.base.addEmpty(1, missing) : cut.base, { finalDepth }),
    await serveChain(cut.ethereum, { finalDepth }),
  ]
  const [base = '', ethereum = ''] = nodes.map(({ url }) => url)
  const ecosystem = localEcosystemAt({ base, ethereum })
  const fresh = await freshSqlite()
  try {
    const index = stepIndex(await commitDepsOf(fresh, ecosystem))
    await advanceAll(index, ecosystem.chains)
    const routes = routesOf(fresh, world.ecosystem)
    const bodies = new Map<string, unknown>()
    for (const path of paths) bodies.set(path, (await readRoute(routes, path)).data)
    return bodies
  } finally {
    await fresh.close()
    for (const node of nodes) await node.stop()
  }
}

/** Without what is of now, or of whole days only. */
function comparable(data: unknown, isValued = true): unknown {
  const isLeftOut = (name: string) =>
    ['finality', 'pctOfMinted', 'asOfBlock'].includes(name) ||
    (!isValued && /usdAt[A-Z]/i.test(name))
  return JSON.parse(JSON.stringify(data, (name, value) => (isLeftOut(name) ? undefined : value)))
}

function assertMeta(
  meta: object,
  cut: Readonly<Record<'base' | 'ethereum', BuiltChain>>,
  asOfUnix: number,
): void {
  const { asOf, blocks, query, page, totals, ...others } = meta as Record<string, unknown>
  assert.deepEqual(others, {})
  assert.equal(Date.parse(String(asOf)), asOfUnix * 1_000)
  const heads = blocks as { chain: 'base' | 'ethereum'; blockNumber: number; blockHash: string }[]
  for (const { chain, blockNumber, blockHash } of heads) {
    const { number, hash } = cut[chain].head
    assert.deepEqual([chain, blockNumber, blockHash], [chain, number, hash])
  }
}

async function textsAt(
  routes: readonly Route[],
  points: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  const texts = new Map<string, unknown>()
  for (const point of points)
    for (const path of QUESTIONS) {
      const { body, headers } = await answerTo(routes, `${path}&${point}`)
      assert.equal(headers?.['Cache-Control'], IMMUTABLE, `${path}&${point}`)
      texts.set(`${path}&${point}`, body)
    }
  return texts
}
