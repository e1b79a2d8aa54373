import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { forgetChain } from '#test/forget-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { holder, usdc } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { DepositProver } from './prove-deposits.ts'
import { watchBalance } from './watch-balance.ts'

const onEach = eachEngine(startPostgres, registerMigrations)
const payTo = localEcosystemAt({}).payment?.payTo[0]?.address ?? holder

/** The operator is paid in blocks 3 and 21, and sends in block 22 as much as came in block 3. */
const chain = beginChain(8453, 1_700_000_000, { isProvable: true })
  .addEmpty(1)
  .add({ logs: [logOf.mint(usdc, holder, 9_000_000n)] })
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 3_000_000n)] })
  .addEmpty(17)
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 20n)] })
  .add({ logs: [logOf.transfer(usdc, payTo, holder, 3_000_000n)] })
  .addEmpty(140)

/** An index of the payment chain behind one node, which is read once `prepare` has changed it. */
async function begin(engine: Engine, prepare: (node: ServedChain) => void) {
  const node = await serveChain(chain)
  prepare(node)
  const local = localEcosystemAt({ base: node.url })
  const { payment } = local
  assert.ok(payment !== null)
  const own = openSource(payment.chain)
  const read: number[] = []
  const source: typeof own = {
    ...own,
    history(request) {
      read.push(request.from)
      return own.history(request)
    },
  }
  const indexing = { ...(await commitDepsOf(engine, local)), source }
  const deps = {
    ...{ register: engine, payment, sourceOf: () => source, clock: Date.now },
    isOurs: async () => true,
    report: () => undefined,
  }
  const prover = new DepositProver(deps)
  const { signal } = new AbortController()
  const open = () => new ChainIndex(indexing, payment.chain)
  let index = open()
  return {
    ...{ node, read },
    async follow() {
      do await index.readOlder()
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
    },
    async forget() {
      await forgetChain(indexing, payment.chain.id)
      index = open()
    },
    prove: () => prover.proveStored(signal),
    watch: () => watchBalance({ ...deps, prover }, signal),
  }
}

const missing = /payTo holds 3 USDC more than its transfers explain/

onEach(
  'a deposit that the only node left out of its history is told until the chain is read again',
  async ({ engine }) => {
    const world = await begin(engine, ({ faults }) => {
      faults.prunedBelow = 15
    })
    try {
      await world.follow()
      await world.prove()
      await assert.rejects(world.watch(), missing)
      world.node.faults.prunedBelow = 0
      world.node.chain = world.node.chain.addEmpty(20)
      await world.follow()
      await assert.rejects(world.watch(), missing)
      await world.forget()
      await world.follow()
      await world.prove()
      await world.watch()
    } finally {
      await world.node.stop()
    }
  },
)

onEach(
  'a deposit left out of a few blocks is proven and stored, while newer ones wait for a proof',
  async ({ engine }) => {
    const world = await begin(engine, ({ faults }) => {
      faults.prunedBelow = 15
    })
    try {
      await world.follow()
      await world.watch()
      const stored = await engine.read(sql`
        select block_number, proof from deposits order by block_number`)
      assert.deepEqual(
        stored.map((row) => [Number(row.block_number), row.proof]),
        [
          [3, 'receipts'],
          [21, null],
        ],
      )
    } finally {
      await world.node.stop()
    }
  },
)

onEach('a comparison in a block that leaves the chain is made again', async ({ engine }) => {
  const world = await begin(engine, () => undefined)
  try {
    await world.follow()
    await world.prove()
    await world.watch()
    const { number } = chain.head
    world.node.chain = chain.fork(number - 7).addEmpty(9)
    await world.follow()
    world.read.length = 0
    await world.watch()
    assert.deepEqual(world.read, [0])
  } finally {
    await world.node.stop()
  }
})

onEach('history is compared once, and from then on what is new', async ({ engine }) => {
  const world = await begin(engine, () => undefined)
  const readNext = async () => {
    world.read.length = 0
    await world.watch()
    return [...world.read]
  }
  try {
    assert.deepEqual(await readNext(), [], 'nothing is compared before history is read')
    await world.follow()
    await world.prove()
    assert.deepEqual(await readNext(), [0])
    assert.deepEqual(await readNext(), [])
    world.node.chain = world.node.chain
      .add({ logs: [logOf.transfer(usdc, holder, payTo, 7n)] })
      .addEmpty(20)
    await world.follow()
    await world.prove()
    assert.deepEqual(await readNext(), [chain.head.number - 4])
  } finally {
    await world.node.stop()
  }
})
