import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import type { ChainName } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import {
  advanceAll,
  buildAnew,
  commitDepsOf,
  differenceOf,
  type SteppedIndex,
  stepIndex,
} from '#test/stepped-index.ts'

/** A few in every run of the tests; `RANDOM_RUNS=500` for a long search. A failure tells its seed. */
const runs = Number(process.env.RANDOM_RUNS ?? 8)

/** A fork deeper than this would take back final blocks. */
const finalDepth = 8

/** A run takes half a second; what remains of the time may go into making a failure smaller. */
const msPerRunMax = 5_000

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
let migratedUrl: string
before(async () => {
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
    { numRuns: runs, interruptAfterTimeLimit: runs * msPerRunMax },
  )
})

interface Life {
  readonly ecosystem: Ecosystem
  readonly nodes: readonly ServedChain[]
  /** The same life in a register on either engine. */
  readonly indexes: SteppedIndex[]
  end(): Promise<void>
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
  for (const engine of engines) indexes.push(stepIndex(await commitDepsOf(engine, ecosystem)))
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
  return openPostgres({ url: await server.createDatabase(migratedUrl), schema: 'register' })
}

async function takeStep(life: Life, step: Step): Promise<void> {
  if (step.do === 'restart') {
    for (const [index, { deps }] of life.indexes.entries()) life.indexes[index] = stepIndex(deps)
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
  for (const index of indexes) await advanceAll(index, ecosystem.chains)
  const [first] = indexes
  assert.ok(first !== undefined)
  const fresh = await freshSqlite()
  try {
    await buildAnew({ lived: first.deps.engine, fresh, ecosystem }, (chains) => chains.toReversed())
    for (const { engine } of indexes.map((index) => index.deps)) {
      const difference = await differenceOf(engine, fresh)
      assert.equal(difference, undefined, `${engine.dialect} ${JSON.stringify(difference)}`)
    }
  } finally {
    await fresh.close()
  }
}
