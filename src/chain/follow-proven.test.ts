import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Log } from '#base/chain.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import { burn, mine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { readHead } from '#devnet/chain-client.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import { type Lie, type LyingNode, startLyingNode } from '#test/lying-node.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { followChain } from './follow.ts'
import { openRpcSource } from './rpc-source.ts'

/** A real anvil behind a node that lies about its newest block, which has two burns. */
describe('following a chain with proofs of every log', () => {
  let devnet: Devnet
  let node: LyingNode
  before(async () => {
    devnet = await startOwnDevnet()
    const { client, rpcUrl } = devnet.chains.base
    for (const amount of [1n, 2n])
      await burn(client, { token: 'grave', from: accounts.holder, amount })
    await mine(client, { blocks: 1 })
    node = await startLyingNode(rpcUrl)
  })
  after(async () => {
    await node.stop()
    await devnet.stop()
  })
  beforeEach(() => {
    node.lie = undefined
  })

  /** Follows the newest block; returns the amounts burned. */
  async function amounts(lie?: Lie, proofs: 'every' | 'deposits' = 'every'): Promise<bigint[]> {
    const { client, chainId } = devnet.chains.base
    node.lie = undefined
    const source = openRpcSource({ chainId, urls: [node.url] })
    const { number } = await readHead(client)
    const parent = await source.header(number - 1)
    assert.ok(parent !== undefined)
    node.lie = lie
    const address = client.addresses.grave.toLowerCase() as `0x${string}`
    const filter = {
      addresses: [address],
      topics: [[TRANSFER_TOPIC]],
      pairs: [{ address, topic0: TRANSFER_TOPIC }],
    } as const
    const stored = async () => undefined
    const event = await followChain(
      { source, filters: [filter], startBlock: 0, finality: 64, proofs, stored },
      parent,
    )
    assert.equal(event.kind, 'blocks')
    const logs: readonly Log[] = event.blocks.flatMap((block) => block.logs)
    return logs.map(({ data }) => BigInt(data))
  }

  test('returns every log of an honest node', async () => {
    assert.deepEqual(await amounts(), [1n, 2n])
    assert.deepEqual(await amounts(undefined, 'deposits'), [1n, 2n])
  })

  test('finds a log that the node left out, even with another of the same contract and event in the block', async () => {
    const lie: Lie = ({ method }, result) =>
      method === 'eth_getLogs' && Array.isArray(result) ? result.slice(1) : result
    assert.deepEqual(await amounts(lie), [1n, 2n])
  })

  test('finds the logs of a block that the node calls empty, in lists and receipts', async () => {
    const lie: Lie = ({ method }, result) =>
      method === 'eth_getLogs' || method === 'eth_getBlockReceipts' ? [] : result
    assert.deepEqual(await amounts(lie), [1n, 2n])
  })

  test('rejects a made-up log that the bloom admits', async () => {
    const lie: Lie = ({ method }, result) => {
      if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
      return [...result, { ...result[0], logIndex: '0x9', data: `0x${'77'.padStart(64, '0')}` }]
    }
    assert.deepEqual(await amounts(lie), [1n, 2n])
  })

  test('does not believe a header whose bloom was emptied', async () => {
    const logsBloom = `0x${'00'.repeat(256)}`
    const lie: Lie = ({ method }, result) =>
      method.startsWith('eth_getBlockBy') ? { ...(result as object), logsBloom } : result
    await assert.rejects(amounts(lie), /its header does not hash to its hash/)
  })

  test('does not believe a false time in the header by number of a block that is proven by hash', async () => {
    const lie: Lie = ({ method }, result) =>
      method === 'eth_getBlockByNumber' ? { ...(result as object), timestamp: '0x1' } : result
    await assert.rejects(amounts(lie), /block \d+ 0x\w+: the node returned a false parent or time/)
  })
})
