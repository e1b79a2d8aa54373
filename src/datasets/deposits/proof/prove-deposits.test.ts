import assert from 'node:assert/strict'
import { after, beforeEach } from 'node:test'
import { openRpcSource } from '#chain/rpc-source.ts'
import { registerMigrations } from '#datasets/datasets.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { ChainIndex } from '#indexer/chain-index.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { fromStored } from '#lib/stored-integer.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { type Lie, startLyingNode } from '#test/lying-node.ts'
import { startPostgres } from '#test/postgres.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { applyProof, readUnproven } from './deposit-proofs.ts'
import { DepositProver } from './prove-deposits.ts'
import { BalanceWatch } from './watch-balance.ts'

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

const pay = (amount: bigint) =>
  payUsdc(client, { from: accounts.holder, to: accounts.payTo, amount })
const us = accounts.payTo.slice(2).toLowerCase()

/** Hides every payment to us, in all answers. */
const hideDeposits: Lie = ({ method }, result) => {
  if (method === 'eth_getBlockReceipts') return []
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.filter(
    (log: { readonly topics: readonly string[] }) => !log.topics[2]?.endsWith(us),
  )
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
  const balance = new BalanceWatch(deps, prover)
  return {
    ...{ news, time },
    readUnproven: () => engine.snapshot((reads) => readUnproven(reads, chainId)),
    async follow() {
      do await index.readOlder()
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
    },
    prove: () => prover.proveStored(new AbortController().signal),
    watch: () => balance.look(new AbortController().signal),
    async deposits() {
      const found = await engine.read(sql`
        select amount, proof from deposits order by block_number, place`)
      return found.map(({ amount, proof }) => [fromStored(amount), proof])
    },
  }
}

const proven = (...amounts: readonly bigint[]) => amounts.map((amount) => [amount, 'receipts'])
let sum: readonly bigint[] = []

onEach('a deposit missing from the history is found through the balance', async ({ engine }) => {
  await pay(7n)
  await mine(client, { blocks: 12 })
  sum = [...sum, 7n]
  const world = await begin(engine)
  node.lie = hideDeposits
  await world.follow()
  assert.deepEqual(await world.deposits(), [])
  await assert.rejects(world.watch(), /cannot be proven/)
  assert.deepEqual(world.news, ['unproven'])
  node.lie = undefined
  world.time.aheadMs = 5_000
  await world.watch()
  assert.deepEqual(await world.deposits(), proven(...sum))
  await world.watch()
  assert.deepEqual(world.news, ['unproven', ...sum.map(() => 'corrected')])
})

onEach(
  'deposits in the history are proven, each block once, and explain the balance',
  async ({ engine }) => {
    const world = await begin(engine)
    await world.follow()
    node.methods.length = 0
    await world.prove()
    await world.prove()
    assert.deepEqual(await world.deposits(), proven(...sum))
    const asked = node.methods.filter((method) => method === 'eth_getBlockReceipts')
    assert.equal(asked.length, sum.length)
    await world.watch()
    assert.deepEqual(world.news, [])
  },
)

onEach(
  'outgoing transfers of the operator hide no deposit and raise no alarm',
  async ({ engine }) => {
    const world = await begin(engine)
    await world.follow()
    await world.prove()
    await world.watch()
    await payUsdc(client, { from: accounts.payTo, to: accounts.holder, amount: 3n })
    await mine(client, { blocks: 12 })
    await world.follow()
    await world.watch()
    assert.deepEqual(world.news, [])
    await payUsdc(client, { from: accounts.payTo, to: accounts.holder, amount: 2n })
    await pay(2n)
    sum = [...sum, 2n]
    node.lie = hideDeposits
    await mine(client, { blocks: 12 })
    await world.follow()
    node.lie = undefined
    await world.watch()
    assert.deepEqual(await world.deposits(), proven(...sum))
  },
)

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
      const small = sum.filter((amount) => amount <= 5n)
      assert.equal(waiting?.count, sum.length - small.length)
      second.isDown = false
      world.time.aheadMs = 60_000
      await world.prove()
      assert.deepEqual(await world.deposits(), proven(...sum))
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
        sum.map((amount) => [amount, 'endpoints']),
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
    assert.equal((await world.readUnproven())?.count, sum.length)
    assert.match((await world.readUnproven())?.reason ?? '', /is 0xcdcd\w+, not 0x/)
  },
)

onEach('a missing deposit is found while newer ones still wait for a proof', async ({ engine }) => {
  const world = await begin(engine)
  await world.follow()
  await world.prove()
  await world.watch()
  await pay(4n)
  await mine(client, { blocks: 12 })
  node.lie = hideDeposits
  await world.follow()
  node.lie = undefined
  await pay(1n)
  await mine(client, { blocks: 12 })
  await world.follow()
  await world.watch()
  assert.deepEqual(await world.deposits(), [...proven(...sum, 4n), [1n, null]])
  sum = [...sum, 4n, 1n]
})

onEach(
  'while no node proves a missing deposit, history is not read over and over',
  async ({ engine }) => {
    const world = await begin(engine)
    const readFrom: number[] = []
    node.lie = (request, result) => {
      const [filter] = request.params as readonly { readonly fromBlock?: string }[]
      if (request.method === 'eth_getLogs' && filter?.fromBlock !== undefined)
        readFrom.push(Number(filter.fromBlock))
      return hideDeposits(request, result)
    }
    await world.follow()
    const [{ finalized_number: finalized } = {}] = await engine.read(
      sql`select finalized_number from positions`,
    )
    const lookAt = async (aheadMs: number) => {
      readFrom.length = 0
      world.time.aheadMs = aheadMs
      const before = node.methods.length
      await assert.rejects(world.watch(), /cannot be proven/)
      const after = node.methods.length
      await world.watch()
      assert.deepEqual([after > before, node.methods.length], [true, after])
      return Math.min(...readFrom)
    }
    assert.equal(await lookAt(0), 0)
    assert.equal(await lookAt(6_000), Number(finalized) + 1)
    world.time.aheadMs = 12_000
    const before = node.methods.length
    await world.watch()
    assert.equal(node.methods.length, before)
    assert.equal(await lookAt(20_000), Number(finalized) + 1)
  },
)
