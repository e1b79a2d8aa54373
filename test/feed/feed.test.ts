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
import { asLateAs, type LivelyBlock, live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { advanceAll, commitDepsOf, type SteppedIndex, stepIndex } from '#test/stepped-index.ts'
import { FeedClient } from './feed-client.ts'

/** A few in every run of the tests, 300 in `npm run test:long`. */
const runs = Number(process.env.RANDOM_RUNS ?? (process.env.TEST_LONG === undefined ? 4 : 300))
const msPerRunMax = 5_000
const finalDepth = 8

const chainIndex = fc.constantFrom<0 | 1>(0, 1)
const depth = fc.integer({ min: 1, max: finalDepth - 1 })

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('grow'), chainIndex, blocks: livelyBlocks }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('fork'), chainIndex, depth, blocks: livelyBlocks }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('index'), chainIndex }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('read'),
      client: fc.nat(3),
      replica: fc.nat(1),
      changes: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('fallBehind'), chainIndex, blocks: livelyBlocks }),
  },
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

/** What must happen in a long run, or it proves little. */
const KINDS = [
  ...['add', 'update', 'retract'].flatMap((op) =>
    ['burns', 'dividends', 'grave-digs', 'prices'].map((dataset) => `${op} ${dataset}`),
  ),
  'finalized',
  'reset',
]

test('whoever starts from the lists and applies the feed ends up with the lists', async () => {
  const everything = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const life = await beginLife()
      try {
        for (const each of steps) await takeStep(life, each)
        for (const { index, replicas, clients } of life.registers) {
          await advanceAll(index, life.ecosystem.chains)
          for (const [number, client] of clients.entries())
            await client.compare(replicas[number % 2] ?? index.deps.engine)
        }
      } finally {
        await life.end()
      }
      for (const { clients } of life.registers)
        for (const { seen } of clients) for (const what of seen.keys()) everything.add(what)
    }),
    { numRuns: runs, interruptAfterTimeLimit: runs * msPerRunMax },
  )
  if (runs >= 100)
    assert.deepEqual(
      KINDS.filter((kind) => !everything.has(kind)),
      [],
    )
})

interface Register {
  index: SteppedIndex
  readonly replicas: readonly Engine[]
  /** Of each two, the second takes final events only. */
  readonly clients: readonly FeedClient[]
}

interface Life {
  readonly ecosystem: Ecosystem
  readonly nodes: readonly ServedChain[]
  readonly registers: readonly Register[]
  end(): Promise<void>
}

async function beginLife(): Promise<Life> {
  const nodes = [
    await serveChain(beginChain(8453, 1_700_000_000), { finalDepth }),
    await serveChain(beginChain(1, 1_700_000_000), { finalDepth }),
  ]
  const [base, ethereum] = nodes.map((node) => node.url)
  const ecosystem = localEcosystemAt({ base: base ?? '', ethereum: ethereum ?? '' })
  const engines = [await sqliteReplicas(), await postgresReplicas()]
  const registers = []
  for (const replicas of engines) {
    const [engine] = replicas
    assert.ok(engine !== undefined)
    await engine.migrate(registerMigrations)
    const index = stepIndex(await commitDepsOf(engine, ecosystem))
    const clients = [false, true, false, true].map((final) => new FeedClient(ecosystem, final))
    registers.push({ index, replicas, clients })
  }
  return {
    ecosystem,
    nodes,
    registers,
    async end() {
      for (const engine of engines.flat()) await engine.close()
      for (const node of nodes) await node.stop()
    },
  }
}

async function sqliteReplicas(): Promise<readonly Engine[]> {
  databases += 1
  const file = join(folder, `register-${databases}.sqlite`)
  return [openSqlite({ file, durability: 'normal' })]
}

async function postgresReplicas(): Promise<readonly Engine[]> {
  const url = await server.createDatabase()
  return [0, 1].map(() => openPostgres({ url, schema: 'register' }))
}

async function takeStep(life: Life, step: Step): Promise<void> {
  if (step.do === 'read') {
    for (const { clients, replicas } of life.registers) {
      const replica: Engine | undefined = replicas[step.replica] ?? replicas[0]
      assert.ok(replica !== undefined)
      await clients[step.client]?.step(replica, step.changes)
    }
    return
  }
  if (step.do === 'restart') {
    for (const register of life.registers) register.index = stepIndex(register.index.deps)
    return
  }
  const node = life.nodes[step.chainIndex]
  const chain = life.ecosystem.chains[step.chainIndex]
  assert.ok(node !== undefined && chain !== undefined)
  const name = chain.name as ChainName
  if (step.do === 'index') for (const { index } of life.registers) await index.advance(chain)
  if (step.do === 'grow') node.chain = live(node.chain, name, step.blocks)
  if (step.do === 'fallBehind') node.chain = live(node.chain, name, step.blocks).addEmpty(150)
  if (step.do === 'fork') {
    const { number } = node.chain.head
    const kept = Math.max(0, number - step.depth)
    const fork = live(node.chain.fork(kept), name, longEnough(step.blocks, number - kept))
    node.chain = asLateAs(node.chain, fork)
  }
}

/** A branch wins when it is not shorter. */
function longEnough(blocks: readonly LivelyBlock[], count: number): readonly LivelyBlock[] {
  const missing = Math.max(0, count - blocks.length)
  return [...blocks, ...Array.from({ length: missing }, () => ({ secondsApart: 2, deeds: [] }))]
}
