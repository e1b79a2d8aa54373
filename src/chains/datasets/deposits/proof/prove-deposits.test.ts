import assert from 'node:assert/strict'
import { after, beforeEach } from 'node:test'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { Engine } from '#store/engine.ts'
import { fromStored, sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { type Lie, startLyingNode } from '#test/lying-node.ts'
import { startPostgres } from '#test/postgres.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { applyProof, readUnproven } from './deposit-proofs.ts'
import { DepositProver } from './prove-deposits.ts'

const onEach = eachEngine(startPostgres, registerMigrations)
const devnet = await startOwnDevnet({ historyDays: 1 })
const { client, rpcUrl, chainId } = devnet.chains.base
const node = await startLyingNode(rpcUrl)
after(async () => {
  await node.stop()
  await devnet.stop()
})
beforeEach(() => {
  node.lie = undefined
})

const paid = [7n, 2n]
for (const amount of paid) {
  await payUsdc(client, { from: accounts.holder, to: accounts.payTo, amount })
  await mine(client, { blocks: 12 })
}
const us = accounts.payTo.slice(2).toLowerCase()

/** Adds one unit to every payment to us in lists of logs. */
const raiseDeposits: Lie = ({ method }, result) => {
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.map((log: { readonly topics: readonly string[]; readonly data: string }) => {
    if (!log.topics[2]?.endsWith(us)) return log
    return { ...log, data: `0x${(BigInt(log.data) + 1n).toString(16).padStart(64, '0')}` }
  })
}

/** An index of the payment chain and its deposit prover, driven by the test. */
async function begin(engine: Engine) {
  const ecosystem = localEcosystemAt({ base: node.url })
  assert.ok(ecosystem.payment !== null)
  const { payment } = ecosystem
  const source = openRpcSource({ chainId, urls: [node.url] })
  const time = { aheadMs: 0 }
  const index = new ChainIndex(
    { ...(await commitDepsOf(engine, ecosystem)), source },
    payment.chain,
  )
  const news: string[] = []
  const deps = {
    register: engine,
    payment,
    source,
    clock: () => Date.now() + time.aheadMs,
    report: ({ kind }: { readonly kind: string }) => void news.push(kind),
  }
  const prover = new DepositProver(deps)
  return {
    ...{ news, time },
    readUnproven: () => engine.snapshot((reads) => readUnproven(reads, chainId)),
    async follow() {
      while ((await index.followOnce()).kind !== 'idle');
    },
    prove: () => prover.proveStored(new AbortController().signal),
    async deposits() {
      const found = await engine.read(sql`
        select amount, proven from deposits order by block_number, place`)
      return found.map(({ amount, proven }) => [fromStored(amount), Number(proven)])
    },
  }
}

const proven = paid.map((amount) => [amount, 1])

onEach('deposits in the history are proven, each block once', async ({ engine }) => {
  const world = await begin(engine)
  await world.follow()
  node.methods.length = 0
  await world.prove()
  await world.prove()
  assert.deepEqual(await world.deposits(), proven)
  const asked = node.methods.filter((method) => method === 'eth_getBlockReceipts')
  assert.equal(asked.length, paid.length)
  assert.deepEqual(world.news, [])
})

onEach('a proof replaces what a node made up', async ({ engine }) => {
  const world = await begin(engine)
  node.lie = raiseDeposits
  await world.follow()
  node.lie = undefined
  assert.deepEqual(
    await world.deposits(),
    paid.map((amount) => [amount + 1n, 0]),
  )
  await world.prove()
  assert.deepEqual(await world.deposits(), proven)
  assert.deepEqual(
    world.news,
    paid.map(() => 'corrected'),
  )
})

onEach('a proof of a block that has since left the chain changes nothing', async ({ engine }) => {
  const world = await begin(engine)
  await world.follow()
  await world.prove()
  const before = await world.deposits()
  const block = { number: 1, hash: `0x${'ab'.repeat(32)}` as const }
  await engine.write(async (connection) => {
    await connection.run(sql`
      update positions set finalized_number = 0 where chain_id = ${chainId}`)
    const settled = { chainId, block, facts: [] } as const
    assert.equal(await applyProof(connection, settled), 'left')
  })
  assert.deepEqual(await world.deposits(), before)
})

onEach(
  'logs of a block that is not on the canonical chain never become deposits',
  async ({ engine }) => {
    const world = await begin(engine)
    await world.follow()
    node.lie = ({ method, params }, result) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) < 1_000 && params[1] === false
        ? { ...(result as object), hash: `0x${'cd'.repeat(32)}` }
        : result
    await world.prove()
    assert.equal((await world.readUnproven())?.count, paid.length)
    assert.match((await world.readUnproven())?.reason ?? '', /is 0xcdcd\w+, not 0x/)
  },
)
