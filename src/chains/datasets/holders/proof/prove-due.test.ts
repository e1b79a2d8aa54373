import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { readUnknown } from '#chains/indexer/unknown-figures.ts'
import type { Engine } from '#store/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { grave, holder } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { type Proof, readProofs } from './proof-row.ts'
import { proveDue } from './prove-due.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, holder, 1_000n)] })
  .addEmpty(20)
  .add({ logs: [logOf.mint(grave, holder, 70n)] })
  .addEmpty(140)

/** An index with proofs, on a clock that the test moves. */
async function begin(engine: Engine, prepare: (node: ServedChain) => void) {
  const node = await serveChain(chain)
  prepare(node)
  const local = localEcosystemAt({})
  const base = local.chains.find((each) => each.name === 'base')
  assert.ok(base !== undefined)
  const followed = { ...base, rpcUrls: [node.url] }
  const ecosystem = { ...local, chains: [followed] }
  const source = openSource(followed)
  const deps = await commitDepsOf(engine, ecosystem)
  const state = { nowMs: Date.now(), isOurs: true }
  const index = new ChainIndex({ ...deps, source }, followed)
  const told: Proof[] = []
  const verdicts: Parameters<typeof proveDue>[1] = new Map()
  const proving = {
    ...{ ecosystem, register: engine, sourceOf: () => source, clock: () => state.nowMs },
    isOurs: async () => state.isOurs,
    onProof: (proof: Proof) => void told.push(proof),
  }
  return {
    ...{ node, state, told },
    async follow() {
      do await index.readOlder()
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
    },
    async prove(afterSeconds = 0) {
      state.nowMs += afterSeconds * 1000
      await proveDue(proving, verdicts, new AbortController().signal)
      return (await engine.snapshot(readProofs)).get(followed.id)
    },
    stop: () => node.stop(),
  }
}

onEach(
  'a difference is reported once, and figures are unknown until a comparison agrees',
  async ({ engine }) => {
    const world = await begin(engine, () => undefined)
    const unknown = () => engine.snapshot(readUnknown)
    try {
      await world.follow()
      const { faults } = world.node
      faults.unannounced = { token: grave, owner: holder, fromBlock: 31 }
      for (let round = 0; round < 3; round += 1) {
        assert.equal((await world.prove(600))?.verdict, 'differs')
        assert.deepEqual(
          (await unknown()).map(({ dataset, reason }) => [dataset, reason]),
          [['holders', 'differs']],
        )
      }
      faults.unannounced = undefined
      assert.equal((await world.prove(600))?.verdict, 'agrees')
      assert.deepEqual(await unknown(), [])
      assert.deepEqual(
        world.told.map(({ verdict }) => verdict),
        ['differs', 'agrees'],
      )
    } finally {
      await world.stop()
    }
  },
)

onEach('figures are compared once history is complete, then hourly', async ({ engine }) => {
  const world = await begin(engine, () => undefined)
  try {
    assert.equal(await world.prove(), undefined)
    await world.follow()
    for (const seconds of [0, 1_800, 1_799]) await world.prove(seconds)
    assert.equal(world.told.length, 1)
    await world.prove(1)
    assert.equal(world.told.length, 2)
  } finally {
    await world.stop()
  }
})

onEach('a proof made for a replaced file is neither stored nor reported', async ({ engine }) => {
  const world = await begin(engine, ({ faults }) => {
    faults.prunedBelow = 15
  })
  try {
    await world.follow()
    world.state.isOurs = false
    assert.equal(await world.prove(), undefined)
    assert.deepEqual(world.told, [])
  } finally {
    await world.stop()
  }
})
