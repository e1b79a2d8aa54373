import assert from 'node:assert/strict'
import { after, beforeEach } from 'node:test'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { fromStored } from '#lib/stored-integer.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
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

/** Hides every payment to us, in all answers. */
const hideDeposits: Lie = ({ method }, result) => {
  if (method === 'eth_getBlockReceipts') return []
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.filter(
    (log: { readonly topics: readonly string[] }) => !log.topics[2]?.endsWith(us),
  )
}

/** Adds one unit to every payment to us in lists of logs. */
const raiseDeposits: Lie = ({ method }, result) => {
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.map((log: { readonly topics: readonly string[]; readonly data: string }) => {
    if (!log.topics[2]?.endsWith(us)) return log
    return { ...log, data: `0x${(BigInt(log.data) + 1n).toString(16).padStart(64, '0')}` }
  })
}

/** An index of the payment chain and its deposit prover, driven by the test. */
async function begin(
  engine: Engine,
  more: { readonly second?: string; readonly change?: Partial<Payment> } = {},
) {
  const ecosystem = localEcosystemAt({ base: node.url })
  assert.ok(ecosystem.payment !== null)
  const payment = { ...ecosystem.payment, ...more.change }
  const urls = [node.url, ...(more.second === undefined ? [] : [more.second])]
  const source = openRpcSource({ chainId, urls })
  const time = { aheadMs: 0 }
  const index = new ChainIndex(
    { ...(await commitDepsOf(engine, ecosystem)), source },
    payment.chain,
  )
  const news: string[] = []
  const deps = {
    ...{ register: engine, payment, sourceOf: () => source, isOurs: async () => true },
    clock: () => Date.now() + time.aheadMs,
    report: ({ kind }: { readonly kind: string }) => void news.push(kind),
  }
  const prover = new DepositProver(deps)
  return {
    ...{ news, time },
    readUnproven: () => engine.snapshot((reads) => readUnproven(reads, chainId)),
    async follow() {
      do await index.readOlder()
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
    },
    prove: () => prover.proveStored(new AbortController().signal),
    async deposits() {
      const found = await engine.read(sql`
        select amount, proof from deposits order by block_number, place`)
      return found.map(({ amount, proof }) => [fromStored(amount), proof])
    },
  }
}

const proven = paid.map((amount) => [amount, 'receipts'])

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
    paid.map((amount) => [amount + 1n, null]),
  )
  await world.prove()
  assert.deepEqual(await world.deposits(), proven)
  assert.deepEqual(
    world.news,
    paid.map(() => 'corrected'),
  )
})

onEach(
  'large deposits wait for a second endpoint while it is down, and name it',
  async ({ engine }) => {
    const second = await startLyingNode(rpcUrl)
    try {
      const change = { secondOpinion: 5n }
      const world = await begin(engine, { second: second.url, change })
      await world.follow()
      second.isDown = true
      await world.prove()
      const waiting = await world.readUnproven()
      assert.match(
        waiting?.reason ?? '',
        new RegExp(`second endpoint to confirm it; ${new URL(second.url).host}`),
      )
      // The threshold is 5 units: 7 waits, 2 does not.
      const small = paid.filter((amount) => amount <= 5n)
      assert.equal(waiting?.count, paid.length - small.length)
      second.isDown = false
      world.time.aheadMs = 60_000
      await world.prove()
      assert.deepEqual(await world.deposits(), proven)
      assert.equal(await world.readUnproven(), undefined)
    } finally {
      await second.stop()
    }
  },
)

onEach(
  'with proof "endpoints" two endpoints that agree prove a deposit, and one does not',
  async ({ engine }) => {
    const second = await startLyingNode(rpcUrl)
    try {
      const world = await begin(engine, { second: second.url, change: { proof: 'endpoints' } })
      await world.follow()
      second.lie = hideDeposits
      await world.prove()
      assert.match(
        (await world.readUnproven())?.reason ?? '',
        /its endpoints return different logs/,
      )
      second.lie = undefined
      world.time.aheadMs = 60_000
      await world.prove()
      assert.deepEqual(
        await world.deposits(),
        paid.map((amount) => [amount, 'endpoints']),
      )
    } finally {
      await second.stop()
    }
  },
)

onEach('a proof of a block that has since left the chain changes nothing', async ({ engine }) => {
  const world = await begin(engine)
  await world.follow()
  await world.prove()
  const before = await world.deposits()
  const block = { number: 1, hash: `0x${'ab'.repeat(32)}` as const }
  await engine.write(async (connection) => {
    await connection.run(sql`
      update positions set finalized_number = 0 where chain_id = ${chainId}`)
    const settled = { chainId, block, facts: [], proof: 'receipts' } as const
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
