import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Answer, Route } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { callRoute, dataRoutesOf } from '#test/route-reader.ts'
import { advanceAll, commitDepsOf, type SteppedIndex, stepIndex } from '#test/stepped-index.ts'

export const finalDepth = 8
const GENESIS_UNIX = 1_700_000_000

/** Later than anything that happens. */
const clock = () => 2_000_000_000_000

/** Every endpoint that takes a block, with its filters. */
export const QUESTIONS = [
  '/api/burns?period=all',
  '/api/burns?period=3d&chain=ethereum',
  '/api/burns/total?',
  '/api/burns/total?token=CRYPT',
  '/api/burns/recent?limit=100',
  '/api/burns/recent?limit=100&chain=base&token=GRAVE',
  '/api/dividends/total?',
  '/api/dividends/recent?limit=100',
  '/api/dividends/0x70997970C51812dc3A010C7d01b50e0d17dc79C8?limit=100',
  '/api/dividends/0x70997970C51812dc3A010C7d01b50e0d17dc79C8?token=USDC&chain=base',
  '/api/grave-digs?limit=100',
  '/api/grave-digs/leaderboard?limit=100',
  '/api/grave-digs/leaderboard?limit=2',
] as const

/** Two chains, indexed on both engines. */
export interface World {
  readonly ecosystem: Ecosystem
  readonly nodes: Readonly<Record<'base' | 'ethereum', ServedChain>>
  readonly indexes: readonly SteppedIndex[]
  readonly routes: readonly (readonly Route[])[]
}

let server: TestPostgres
let folder: string
let databases = 0
let migratedUrl: string

/** The stores of both engines, for the tests of a file. */
export function useStores(): void {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sexton-'))
    server = await startPostgres()
    migratedUrl = await server.createDatabase()
    const engine = openPostgres({ url: migratedUrl, schema: 'register' })
    await engine.migrate(registerMigrations)
    await engine.close()
  })
  after(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })
}

interface WorldOptions {
  /** Seconds between the first blocks. */
  readonly ethereumLater?: number
  readonly baseFrom?: number
}

export function worldTest(
  guarantee: string,
  work: (world: World) => Promise<void>,
  options: WorldOptions = {},
): void {
  test(guarantee, () => inWorld(work, options))
}

export async function inWorld(
  work: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const { ethereumLater = -3, baseFrom = 0 } = options
  const base = await serveChain(beginChain(8453, GENESIS_UNIX), { finalDepth })
  const ethereum = await serveChain(beginChain(1, GENESIS_UNIX + ethereumLater), { finalDepth })
  const engines = [await freshSqlite(), await freshPostgres()]
  try {
    const ecosystem = localEcosystemAt(
      { base: base.url, ethereum: ethereum.url },
      ({ chains, ...file }) => ({
        ...file,
        chains: chains.map((each) =>
          each.name === 'base' ? { ...each, startBlock: baseFrom } : each,
        ),
      }),
    )
    const indexes = []
    for (const engine of engines) indexes.push(stepIndex(await commitDepsOf(engine, ecosystem)))
    const routes = engines.map((register) => routesOf(register, ecosystem))
    await work({ ecosystem, nodes: { base, ethereum }, indexes, routes })
  } finally {
    for (const engine of engines) await engine.close()
    await base.stop()
    await ethereum.stop()
  }
}

export function routesOf(register: Engine, ecosystem: Ecosystem): readonly Route[] {
  return dataRoutesOf({ register, ecosystem, clock })
}

export async function freshSqlite(): Promise<Engine> {
  databases += 1
  const file = join(folder, `register-${databases}.sqlite`)
  const engine = openSqlite({ file, durability: 'normal' })
  await engine.migrate(registerMigrations)
  return engine
}

async function freshPostgres(): Promise<Engine> {
  return openPostgres({ url: await server.createDatabase(migratedUrl), schema: 'register' })
}

export async function indexAll({ indexes, ecosystem }: World): Promise<void> {
  for (const index of indexes) await advanceAll(index, ecosystem.chains)
}

const chainName = fc.constantFrom<'base' | 'ethereum'>('base', 'ethereum')

/** Without logs that cannot be read: those make figures unknown at every block, also before them. */
const blocks = livelyBlocks.map((list) =>
  list.map(({ deeds, ...block }) => ({
    ...block,
    deeds: deeds.filter(({ kind }) => kind !== 'nonsense'),
  })),
)

export const lifeStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('grow'), chainName, blocks }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fork'),
      chainName,
      depth: fc.integer({ min: 1, max: finalDepth - 1 }),
      blocks,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('index'), chainName }) },
)

export async function takeStep(
  world: World,
  step: typeof lifeStep extends fc.Arbitrary<infer Step> ? Step : never,
): Promise<void> {
  const node = world.nodes[step.chainName]
  const { number } = node.chain.head
  if (step.do === 'grow') node.chain = live(node.chain, step.chainName, step.blocks)
  if (step.do === 'fork') {
    const kept = Math.max(0, number - step.depth)
    const fork = live(node.chain.fork(kept), step.chainName, step.blocks)
    // A branch wins when it is not shorter.
    node.chain = fork.addEmpty(Math.max(0, number - fork.head.number))
  }
  const chain = world.ecosystem.chains.find(({ name }) => name === step.chainName)
  assert.ok(chain !== undefined)
  if (step.do === 'index') for (const index of world.indexes) await index.advance(chain)
}

/** Blocks some hours apart in which everything happens that is counted. */
export function grow(world: World, name: keyof World['nodes'], count: number, size: number): void {
  const node = world.nodes[name]
  const secondsApart = name === 'base' ? 30_000 : 31_000
  const blocks = Array.from({ length: count }, (_, at) => ({
    ...busyBlock(at, size),
    secondsApart,
  }))
  node.chain = live(node.chain, name, blocks)
}

/** In the second of its parent. */
export function busyBlock(at: number, size: number): LivelyBlock {
  return {
    secondsApart: 0,
    deeds: [
      { kind: 'mint', who: at % 6, whom: 0, size: 50 },
      { kind: 'moveGrave', who: at % 6, whom: 6, size: 10 + size },
      { kind: 'claim', who: at % 5, whom: at % 4, size: 20 + size },
      { kind: 'answer', who: 0, whom: 1, size: 40 + (at % 9) },
      { kind: 'sync', who: at, whom: 1, size: 30 + size },
      { kind: 'dig', who: at % 4, whom: at, size: 5 + size },
      { kind: 'dig', who: 1, whom: at, size: 5 },
    ],
  }
}

export async function answerTo(routes: readonly Route[], target: string): Promise<Answer> {
  const outcome = await callRoute(routes, target)
  if (outcome.kind !== 'answer') throw new Error(`${target}: ${JSON.stringify(outcome)}`)
  return outcome
}
