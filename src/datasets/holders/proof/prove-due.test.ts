import assert from 'node:assert/strict'
import { registerMigrations } from '#datasets/datasets.ts'
import { ChainIndex } from '#indexer/chain-index.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import type { Engine } from '#store/engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { grave, holder } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { noteReread, type Proof, readProofs } from './proof-row.ts'
import { proveDue } from './prove-due.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, holder, 1_000n)] })
  .addEmpty(20)
  .add({ logs: [logOf.mint(grave, holder, 70n)] })
  .addEmpty(140)

/** An index with proofs, on a clock that the test moves. */
async function begin(engine: Engine, prepare: (nodes: readonly ServedChain[]) => void) {
  const nodes = [await serveChain(chain), await serveChain(chain)]
  prepare(nodes)
  const local = localEcosystemAt({})
  const base = local.chains.find((each) => each.name === 'base')
  assert.ok(base !== undefined)
  const followed = { ...base, rpcUrls: nodes.map(({ url }) => url) }
  const ecosystem = { ...local, chains: [followed] }
  const source = openSource(followed)
  const deps = await commitDepsOf(engine, ecosystem)
  const state = { nowMs: Date.now(), readings: 0, isWanted: false, isOurs: true }
  const rereadings = {
    isWanted: () => state.isWanted,
    async done(chainId: number) {
      state.isWanted = false
      const nowUnix = Math.floor(state.nowMs / 1000)
      await engine.write((connection) => noteReread(connection, chainId, nowUnix))
    },
  }
  const index = new ChainIndex({ ...deps, source, rereadings }, followed)
  const told: Proof[] = []
  const causes = new Map<number, string>()
  const proving = {
    ...{ ecosystem, register: engine, sourceOf: () => source, clock: () => state.nowMs },
    isOurs: async () => state.isOurs,
    readAgain() {
      state.readings += 1
      state.isWanted = true
    },
    onProof: (proof: Proof) => void told.push(proof),
  }
  return {
    ...{ nodes, state, told },
    async follow() {
      do await index.readOlder()
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
    },
    async prove(afterSeconds = 0) {
      state.nowMs += afterSeconds * 1000
      await proveDue(proving, causes, new AbortController().signal)
      return (await engine.snapshot(readProofs)).get(followed.id)
    },
    async stop() {
      for (const node of nodes) await node.stop()
    },
  }
}

onEach(
  'a chain with transfers missing that another endpoint has is read again once and then agrees',
  async ({ engine }) => {
    const world = await begin(engine, ([first]) => {
      if (first !== undefined) first.faults.prunedBelow = 15
    })
    try {
      await world.follow()
      const proof = await world.prove()
      assert.equal(proof?.verdict, 'differs')
      assert.match(proof?.detail ?? '', /lacks transfers that .*; the chain is read again/)
      await world.follow()
      assert.equal((await world.prove(600))?.verdict, 'agrees')
      assert.equal(world.state.readings, 1)
      assert.deepEqual(
        world.told.map(({ verdict }) => verdict),
        ['differs', 'agrees'],
      )
    } finally {
      await world.stop()
    }
  },
)

onEach(
  'balance changes without Transfer events are reported once and cause no re-read',
  async ({ engine }) => {
    const world = await begin(engine, (nodes) => {
      for (const { faults } of nodes)
        faults.unannounced = { token: grave, owner: holder, fromBlock: 31 }
    })
    try {
      await world.follow()
      for (let round = 0; round < 4; round += 1) {
        const proof = await world.prove(600)
        assert.equal(proof?.verdict, 'differs')
        assert.match(proof?.detail ?? '', /rebasing, fees/)
      }
      assert.equal(world.told.length, 1)
      assert.equal(world.state.readings, 0)
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
  const world = await begin(engine, ([first]) => {
    if (first !== undefined) first.faults.prunedBelow = 15
  })
  try {
    await world.follow()
    world.state.isOurs = false
    assert.equal(await world.prove(), undefined)
    assert.deepEqual([world.told, world.state.readings], [[], 0])
  } finally {
    await world.stop()
  }
})
