import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { BlockRef } from '#base/chain.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { readHead } from '#devnet/chain-client.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import { type Lie, type LyingNode, Refused, startLyingNode } from '#test/lying-node.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import type { ChainSource } from '../chain-source.ts'
import { openRpcSource } from '../rpc-source.ts'

/** Blocks of a real anvil behind a node that lies about them. */
describe('the proof of a block', () => {
  let devnet: Devnet
  let nodes: readonly [LyingNode, LyingNode]
  let source: ChainSource
  let both: ChainSource
  /** A block with several payments, and the one before it, with one. */
  let paid: BlockRef
  let earlier: BlockRef
  before(async () => {
    devnet = await startOwnDevnet()
    const { client, rpcUrl, chainId } = devnet.chains.base
    const pay = (amount: bigint) =>
      payUsdc(client, { from: accounts.holder, to: accounts.payTo, amount })
    await pay(1n)
    await mine(client, { blocks: 1 })
    earlier = await readHead(client)
    for (const amount of [2n, 3n, 4n]) await pay(amount)
    await mine(client, { blocks: 1 })
    paid = await readHead(client)
    nodes = [await startLyingNode(rpcUrl), await startLyingNode(rpcUrl)]
    source = openRpcSource({ chainId, urls: [nodes[0].url] })
    both = openRpcSource({ chainId, urls: nodes.map(({ url }) => url) })
  })
  after(async () => {
    for (const node of nodes) await node.stop()
    await devnet.stop()
  })
  beforeEach(() => {
    for (const node of nodes) Object.assign(node, { lie: undefined, isDown: false })
  })

  const amounts = async (lie?: Lie) => {
    nodes[0].lie = lie
    const { logs } = await source.provenBlock(paid)
    return logs.map(({ data }) => BigInt(data))
  }
  const refused = (lie: Lie, reason: RegExp) => assert.rejects(amounts(lie), reason)

  test('returns every log of an honest node, the same as its eth_getLogs', async () => {
    assert.deepEqual(await amounts(), [2n, 3n, 4n])
    const { logs } = await source.provenBlock(paid)
    const address = devnet.chains.base.client.addresses.usdc.toLowerCase() as `0x${string}`
    const told = await source.logsInBlock({ addresses: [address], topics: [] }, paid.hash)
    const { timestampUnix: timestamp } = await readHead(devnet.chains.base.client)
    assert.deepEqual(
      logs,
      told.map((log) => ({ ...log, timestamp })),
    )
  })

  test('falls back to single receipts if the node lacks eth_getBlockReceipts', async () => {
    for (const code of [-32_601, -32_004])
      assert.deepEqual(
        await amounts(({ method }, result) => {
          if (method === 'eth_getBlockReceipts') throw new Refused('not supported', code)
          return result
        }),
        [2n, 3n, 4n],
      )
  })

  test('numbers logs as the node does, by block or by transaction, and else by block', async () => {
    const placesWith = async (logIndexes: readonly unknown[]) => {
      nodes[0].lie = receipts((list) =>
        list.map((each, at) => ({
          ...each,
          logs: each.logs.map((log) => ({ ...log, logIndex: logIndexes[at] })),
        })),
      )
      const { logs } = await source.provenBlock(paid)
      return logs.map(({ txIndex, logIndex }) => [txIndex, logIndex])
    }
    const ofBlock = [0, 1, 2].map((index) => [index, index])
    const ofTransaction = [0, 1, 2].map((index) => [index, 0])
    assert.deepEqual(await placesWith(['0x0', '0x0', '0x0']), ofTransaction)
    assert.deepEqual(await placesWith(['0x0', '0x1', '0x2']), ofBlock)
    for (const other of [['0x0', '0x0', '0x1'], ['0x7', '0x7', '0x7'], [], ['0x0', null, '0x0']])
      assert.deepEqual(await placesWith(other), ofBlock)
  })

  test('refuses a log that was made up, left out or changed', async () => {
    const root = /do not hash to its receiptsRoot/
    const first = (list: readonly Receipt[], change: (logs: readonly Log[]) => readonly Log[]) =>
      list.map((each, index) => (index === 0 ? { ...each, logs: change(each.logs) } : each))
    await refused(
      receipts((list) => first(list, (logs) => [...logs, ...logs])),
      root,
    )
    await refused(
      receipts((list) => first(list, () => [])),
      root,
    )
    const data = `0x${'99'.repeat(32)}`
    await refused(
      receipts((list) => first(list, (logs) => logs.map((log) => ({ ...log, data })))),
      root,
    )
  })

  test('asks for each receipt where those of the block are of another, fewer, double, swapped or nonsense', async () => {
    const { rpc } = devnet.chains.base.client
    const others = await rpc.send({ method: 'eth_getBlockReceipts', params: [earlier.hash] })
    const ofBlock = (change: (list: readonly Receipt[]) => unknown) =>
      amounts(({ method }, result) =>
        method === 'eth_getBlockReceipts' ? change(result as readonly Receipt[]) : result,
      )
    const swapped = (list: readonly Receipt[]) =>
      list
        .toReversed()
        .map((each, index) => ({ ...each, transactionIndex: list[index]?.transactionIndex }))
    const wrong = [() => null, () => others, () => [], () => 42, () => [{}], swapped]
    for (const change of [...wrong, (list: readonly Receipt[]) => list.slice(1)])
      assert.deepEqual(await ofBlock(change), [2n, 3n, 4n])
    assert.deepEqual(await ofBlock(([first, ...rest]) => [first, first, ...rest]), [2n, 3n, 4n])
  })

  test('refuses a header forged to fit other receipts', async () => {
    await refused(({ method }, result) => {
      if (method !== 'eth_getBlockByHash') return result
      return { ...(result as object), receiptsRoot: `0x${'12'.repeat(32)}` }
    }, /its header does not hash to its hash/)
    await refused(
      ({ method }, result) => (method === 'eth_getBlockByHash' ? null : result),
      /the node does not know it/,
    )
  })

  test('names the type of a receipt that it cannot hash, its transaction and what to do about it', async () => {
    const { rpc } = devnet.chains.base.client
    const honest = (await rpc.send({
      method: 'eth_getBlockReceipts',
      params: [paid.hash],
    })) as readonly Receipt[]
    const first = honest[0]?.transactionHash
    await refused(
      receipts((list) => list.map((each) => ({ ...each, type: '0x7f' }))),
      new RegExp(
        `do not hash to its receiptsRoot; .* type 0x7f of transaction ${first}: .*set proofs: "deposits" for the chain in the ecosystem file`,
      ),
    )
  })

  test('is tried with the next endpoint if the first cannot provide it', async () => {
    nodes[0].lie = receipts(() => [])
    assert.equal((await both.provenBlock(paid)).logs.length, 3)
  })

  const withMoreTransactions = (block: unknown, count: number) => {
    const { transactions } = block as { readonly transactions: readonly string[] }
    const hashOf = (index: number) => `0x${index.toString(16).padStart(64, '0')}`
    const more = Array.from({ length: count }, (_, index) => hashOf(index))
    return { ...(block as object), transactions: [...transactions, ...more] }
  }

  test('requests no receipts if the gas of the block is too low for its number of transactions', async () => {
    nodes[0].methods.length = 0
    await refused(({ method }, result) => {
      if (method === 'eth_getBlockReceipts') throw new Refused('not supported')
      return method === 'eth_getBlockByHash' ? withMoreTransactions(result, 5_000) : result
    }, /its gas is not enough for 5003 transactions/)
    assert.ok(!nodes[0].methods.includes('eth_getTransactionReceipt'))
  })
})

type Log = Readonly<Record<string, unknown>>

interface Receipt {
  readonly transactionHash: unknown
  readonly transactionIndex: unknown
  readonly logs: readonly Log[]
}

/** Changes the receipts of a block and each single receipt. */
function receipts(change: (list: readonly Receipt[]) => unknown): Lie {
  return ({ method }, result) => {
    if (method === 'eth_getBlockReceipts') return change(result as readonly Receipt[])
    if (method !== 'eth_getTransactionReceipt') return result
    const changed = change([result as Receipt])
    return Array.isArray(changed) ? changed[0] : changed
  }
}
