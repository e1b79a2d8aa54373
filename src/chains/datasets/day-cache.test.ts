import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { METRICS } from '#chains/statistics/metrics.ts'
import type { ChainName } from '#devnet/addresses.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { Route } from '#route/route.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { advanceAll, commitDepsOf, type SteppedIndex, stepIndex } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { registerMigrations } from './datasets.ts'

/** One in every run of the tests; `RANDOM_RUNS=500` for a long search. A failure tells its seed. */
const runs = Number(process.env.RANDOM_RUNS ?? 1)

const finalDepth = 8
const GENESIS_UNIX = 1_700_000_000

test('days are shown as they are while blocks come and go and older history is read', () =>
  inWorld(async (world) => {
    const { node } = world.base
    node.chain = live(node.chain, 'base', daysOf(40, 1)).addEmpty(70)
    await follow(world)
    node.chain = live(node.chain, 'base', daysOf(12, 2))
    await follow(world)
    const before = await readDigs(world)
    node.chain = live(node.chain.fork(node.chain.head.number - 6), 'base', daysOf(7, 3))
    await follow(world)
    const after = await readDigs(world)
    assert.equal(before.slice(-8).join(''), '22222222')
    assert.equal(after.slice(-8).join(''), '23333333')
  }))

const chainName = fc.constantFrom<'base' | 'ethereum'>('base', 'ethereum')
const lifeStep = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('grow'), chainName, blocks: livelyBlocks }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fork'),
      chainName,
      depth: fc.integer({ min: 1, max: finalDepth - 1 }),
      blocks: fc.array(livelyBlocks, { minLength: 3, maxLength: 3 }).map((each) => each.flat()),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('index'), chainName }) },
)

test('days are shown as they are in whatever order two chains live and are read', async () => {
  const steps = fc.array(lifeStep, { minLength: 10, maxLength: 25 })
  await fc.assert(
    fc.asyncProperty(steps, (taken) =>
      inWorld(async (world) => {
        await advanceAll(world.index, [world.base.chain])
        for (const each of taken) await takeStep(world, each)
      }),
    ),
    { numRuns: runs },
  )
})

interface Followed {
  readonly chain: Chain
  readonly node: ServedChain
}

interface World {
  readonly base: Followed
  readonly ethereum: Followed
  readonly index: SteppedIndex
  /** Asked all the time, so that they keep what they can. */
  readonly routes: readonly Route[]
  readonly freshRoutes: () => readonly Route[]
  /** All that is asked meanwhile is of one state of the register: older history is stored beside. */
  readonly inOneState: (work: () => Promise<void>) => Promise<void>
}

/** Two chains of which some blocks are final; nothing is read yet of the one that is behind in time. */
async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const begin = (id: number, name: ChainName, days: readonly LivelyBlock[]) =>
    serveChain(live(beginChain(id, GENESIS_UNIX), name, days), { finalDepth })
  const nodes = [
    await begin(8453, 'base', daysOf(12, 1)),
    await begin(1, 'ethereum', daysOf(70, 0)),
  ] as const
  try {
    await onSqlite(registerMigrations, async ({ engine }) => {
      const ecosystem = localEcosystemAt({ base: nodes[0].url, ethereum: nodes[1].url })
      const [base, ethereum] = ecosystem.chains
      assert.ok(base !== undefined && ethereum !== undefined)
      const clock = () => GENESIS_UNIX * 1000
      let state: Connection | undefined
      const snapshot: Engine['snapshot'] = (work) =>
        state === undefined ? engine.snapshot(work) : work(state)
      const register = { ...engine, snapshot }
      const freshRoutes = () => dataRoutesOf({ register, ecosystem, clock })
      const index = stepIndex(await commitDepsOf(engine, ecosystem))
      await advanceAll(index, [ethereum])
      await work({
        base: { chain: base, node: nodes[0] },
        ethereum: { chain: ethereum, node: nodes[1] },
        index,
        routes: freshRoutes(),
        freshRoutes,
        inOneState: (work) =>
          engine.snapshot(async (connection) => {
            state = connection
            await work().finally(() => {
              state = undefined
            })
          }),
      })
    })
  } finally {
    for (const node of nodes) await node.stop()
  }
}

/** Blocks a day apart in which everything happens that a series tells of; `size` tells branches apart. */
function daysOf(count: number, size: number): readonly LivelyBlock[] {
  const burnAddress = 6
  return Array.from({ length: count }, (_, day) => ({
    secondsApart: DAY_SECONDS,
    deeds: [
      { kind: 'mint', who: day % 6, whom: 0, size: 50 },
      { kind: 'moveGrave', who: day % 6, whom: burnAddress, size: 10 + size },
      { kind: 'claim', who: 1, whom: day % 4, size: 20 + size },
      { kind: 'answer', who: 0, whom: 1, size: 40 + (day % 9) },
      { kind: 'sync', who: day, whom: 1, size: 30 + size },
      ...Array.from({ length: size }, () => ({ kind: 'dig', who: 1, whom: day, size: 5 }) as const),
    ],
  }))
}

const QUESTIONS = [
  '/api/burns/total',
  '/api/burns/total?token=CRYPT',
  '/api/dividends/total',
  ...METRICS.flatMap((metric) => [
    `/api/stats/history?metric=${metric}&period=all`,
    `/api/stats/history?metric=${metric}&period=20d`,
  ]),
  '/api/stats/history?metric=dividendsCumulative&token=GRAVE&period=90d',
  '/api/burns?period=all',
  '/api/burns?period=20d&chain=base',
]

/** What is kept is what would be read. */
async function compare({ routes, freshRoutes, inOneState }: World): Promise<void> {
  const fresh = freshRoutes()
  await inOneState(async () => {
    for (const question of QUESTIONS)
      assert.deepEqual(
        await readRoute(routes, question),
        await readRoute(fresh, question),
        question,
      )
  })
}

/** Advances the index until nothing happens any more, and compares at each step. */
async function follow(world: World): Promise<void> {
  while (await world.index.advance(world.base.chain)) await compare(world)
}

async function takeStep(
  world: World,
  step: typeof lifeStep extends fc.Arbitrary<infer Step> ? Step : never,
): Promise<void> {
  const { chain, node } = world[step.chainName]
  const { number } = node.chain.head
  if (step.do === 'grow') node.chain = live(node.chain, step.chainName, step.blocks)
  if (step.do === 'fork') {
    const cache = Math.max(0, number - step.depth)
    const fork = live(node.chain.fork(cache), step.chainName, step.blocks)
    // A branch wins when it is not shorter.
    node.chain = fork.addEmpty(Math.max(0, number - fork.head.number))
  }
  if (step.do === 'index') {
    await world.index.advance(chain)
    await compare(world)
  }
}

/** How many digs there were on each day that had some. */
async function readDigs(world: World): Promise<readonly string[]> {
  const { data } = await readRoute(world.routes, '/api/stats/history?metric=graveDigs&period=all')
  const { points } = data as { readonly points: readonly { readonly valueExact: string }[] }
  return points.map(({ valueExact }) => valueExact).filter((digs) => digs !== '0')
}
