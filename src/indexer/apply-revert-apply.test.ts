import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Position } from '#chain/chain-event.ts'
import { follow } from '#chain/follow.ts'
import { allDatasets, registerMigrations } from '#datasets/datasets.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import type { ChainName } from '#devnet/addresses.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { systemClock } from '#lib/clock.ts'
import type { Engine } from '#store/engine.ts'
import { acquireLease } from '#store/lease.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import type { CommitDeps } from './commit.ts'
import { compareRegisters } from './compare-registers.ts'
import { readPosition } from './positions.ts'
import { rebuildIndex } from './rebuild.ts'
import { applyEvent, makeFollower } from './run-chain.ts'
import { readIndexStatus } from './status.ts'

/** A few in every run of the tests; `RANDOM_RUNS=500` for a long search. */
const runs = Number(process.env.RANDOM_RUNS ?? 15)

/** A fork deeper than this would take back final blocks. */
const finalDepth = 8

const chainIndex = fc.constantFrom<0 | 1>(0, 1)

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('grow'), chainIndex, blocks: livelyBlocks }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fork'),
      chainIndex,
      depth: fc.integer({ min: 1, max: finalDepth - 1 }),
      blocks: livelyBlocks,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('index'), chainIndex }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

let server: TestPostgres
const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
let databases = 0
before(async () => {
  server = await startPostgres()
})
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

test('an index that lived through any reorganisations equals a fresh index of the final chains', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
      const life = await beginLife()
      try {
        for (const each of steps) await takeStep(life, each)
        await compareWithFresh(life)
      } finally {
        await life.end()
      }
    }),
    { numRuns: runs },
  )
})

interface Life {
  readonly ecosystem: Ecosystem
  readonly nodes: readonly ServedChain[]
  /** The same life in a register on either engine. */
  readonly indexes: Index[]
  end(): Promise<void>
}

/** An index that is driven step by step. */
interface Index {
  readonly deps: CommitDeps
  advance(chain: Chain): Promise<boolean>
}

async function beginLife(): Promise<Life> {
  const genesisUnix = 1_700_000_000
  const nodes = [
    await serveChain(beginChain(8453, genesisUnix), { finalDepth }),
    await serveChain(beginChain(1, genesisUnix), { finalDepth }),
  ]
  const [base, ethereum] = nodes.map((node) => node.url)
  const ecosystem = localEcosystemAt({ base: base ?? '', ethereum: ethereum ?? '' })
  const engines = [await freshSqlite(), await freshPostgres()]
  const indexes = []
  for (const engine of engines) indexes.push(makeIndex(await depsOf(engine, ecosystem)))
  return {
    ecosystem,
    nodes,
    indexes,
    async end() {
      for (const engine of engines) await engine.close()
      for (const node of nodes) await node.stop()
    },
  }
}

async function freshSqlite(): Promise<Engine> {
  databases += 1
  const file = join(folder, `register-${databases}.sqlite`)
  const engine = openSqlite({ file, durability: 'normal' })
  await engine.migrate(registerMigrations)
  return engine
}

async function freshPostgres(): Promise<Engine> {
  const engine = openPostgres({ url: await server.createDatabase(), schema: 'register' })
  await engine.migrate(registerMigrations)
  return engine
}

async function depsOf(engine: Engine, ecosystem: Ecosystem): Promise<CommitDeps> {
  const lease = await acquireLease(
    { engine, clock: systemClock },
    { name: 'index', holder: 'test' },
  )
  assert.ok(lease !== undefined)
  return {
    engine,
    clock: systemClock,
    lease,
    datasets: allDatasets(ecosystem),
    prices: makeDollarPrices(ecosystem.tokens),
    tokens: ecosystem.tokens.map((token) => token.symbol),
  }
}

/** Follows each chain one event at a time; gives whether anything happened. */
function makeIndex(deps: CommitDeps): Index {
  const known = new Map<number, Position | undefined>()
  const followers = new Map<number, ReturnType<typeof makeFollower>>()
  return {
    deps,
    async advance(chain) {
      const follower =
        followers.get(chain.id) ?? makeFollower({ ...deps, source: openSource(chain) }, chain)
      followers.set(chain.id, follower)
      if (!known.has(chain.id))
        known.set(chain.id, await deps.engine.snapshot((reads) => readPosition(reads, chain.id)))
      const position = known.get(chain.id)
      const event = await follow(follower, position)
      known.set(chain.id, await applyEvent(deps, { chain, event, position }))
      return event.kind !== 'idle' && event.kind !== 'behind'
    },
  }
}

async function takeStep(life: Life, step: Step): Promise<void> {
  if (step.do === 'restart') {
    for (const [index, { deps }] of life.indexes.entries()) life.indexes[index] = makeIndex(deps)
    return
  }
  const node = life.nodes[step.chainIndex]
  const chain = life.ecosystem.chains[step.chainIndex]
  assert.ok(node !== undefined && chain !== undefined)
  const name = chain.name as ChainName
  if (step.do === 'index') for (const index of life.indexes) await index.advance(chain)
  if (step.do === 'grow') node.chain = live(node.chain, name, step.blocks)
  if (step.do === 'fork') {
    const { number } = node.chain.head
    const kept = Math.max(0, number - step.depth)
    node.chain = live(node.chain.fork(kept), name, longEnough(step.blocks, number - kept))
  }
}

/** A branch wins when it is not shorter. */
function longEnough(blocks: readonly LivelyBlock[], count: number): readonly LivelyBlock[] {
  const missing = Math.max(0, count - blocks.length)
  return [...blocks, ...Array.from({ length: missing }, () => ({ secondsApart: 2, deeds: [] }))]
}

async function compareWithFresh(life: Life): Promise<void> {
  const { ecosystem, indexes } = life
  for (const index of indexes)
    for (const chain of ecosystem.chains) while (await index.advance(chain));
  const fresh = await freshSqlite()
  try {
    const deps = await depsOf(fresh, ecosystem)
    const status = await indexes[0]?.deps.engine.snapshot((reads) =>
      readIndexStatus(reads, ecosystem.chains),
    )
    await rebuildIndex(
      { ...deps, sourceOf: openSource, onProgress: () => undefined },
      [...(status?.chains ?? [])].reverse(),
    )
    for (const { deps: lived } of indexes) {
      const difference = await compare(lived.engine, fresh)
      assert.equal(difference, undefined, `${lived.engine.dialect} ${JSON.stringify(difference)}`)
    }
  } finally {
    await fresh.close()
  }
}

function compare(lived: Engine, fresh: Engine) {
  return lived.snapshot((a) =>
    fresh.snapshot((b) =>
      compareRegisters(
        { connection: a, dialect: lived.dialect },
        { connection: b, dialect: fresh.dialect },
      ),
    ),
  )
}
