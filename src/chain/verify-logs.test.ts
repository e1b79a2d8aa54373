import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { RpcError } from './rpc-error.ts'
import { openRpcSource } from './rpc-source.ts'
import { fetchBlockLogs } from './verify-logs.ts'

const token = `0x${'11'.repeat(20)}` as const
const stranger = `0x${'99'.repeat(20)}` as const
const alice = `0x${'aa'.repeat(20)}` as const
const bob = `0x${'bb'.repeat(20)}` as const
const transfer = logOf.transfer(token, alice, bob, 5n)
const topics = [transfer.topics.slice(0, 1)]
const filters = [{ addresses: [token], topics }]
const node = await serveChain(
  beginChain(1, 1_700_000_000)
    .add({ logs: [transfer, logOf.burn(token, bob, 2n)] })
    .add({ logs: [logOf.transfer(stranger, alice, bob, 1n)] })
    .add({ logs: [transfer] })
    .addEmpty(1),
)
const source = openRpcSource({ chainId: 1, urls: [node.url] })
after(() => node.stop())
beforeEach(() => {
  Object.assign(node.faults, noFaults())
  node.methods.length = 0
})

async function logsOf(number: number) {
  const header = await source.header(number)
  assert.ok(header !== undefined)
  return fetchBlockLogs(source, filters, header)
}

test('the logs of a block come in order with the time of the block', async () => {
  const logs = await logsOf(1)
  assert.deepEqual(
    logs.map(({ logIndex, timestamp }) => [logIndex, timestamp]),
    [
      [0, 1_700_000_002],
      [1, 1_700_000_002],
    ],
  )
})

test('a block whose bloom says no is not asked for logs', async () => {
  assert.deepEqual(await logsOf(4), [])
  assert.ok(!node.methods.includes('eth_getLogs'))
})

test('a log that the bloom of its block does not admit is refused', async () => {
  node.faults.forgedLogs = true
  await assert.rejects(logsOf(1), /the node returned a log that the bloom excludes/)
})

test('an empty list against the bloom is refused when the receipts hold a log', async () => {
  node.faults.emptyLogs = true
  await assert.rejects(logsOf(1), /the node returned 0 logs, but its receipts hold 2/)
})

test('an empty list against the bloom is believed when the receipts agree', async () => {
  const withBoth = [{ addresses: [stranger, token], topics: [[...topics].flat(), [bob]] }] as const
  const header = await source.header(2)
  assert.ok(header !== undefined)
  const chance = [{ addresses: [stranger], topics: [[...topics].flat(), [alice]] }] as const
  assert.equal((await fetchBlockLogs(source, withBoth, header)).length, 0)
  assert.equal((await fetchBlockLogs(source, chance, header)).length, 0)
})

test('a node without receipts is believed; one that does not know the block is not', async () => {
  node.faults.emptyLogs = true
  node.faults.receipts = 'unsupported'
  assert.deepEqual(await logsOf(1), [])
  node.faults.receipts = 'unknown-block'
  await assert.rejects(logsOf(1), /block not found/)
})

test('a log of another block is refused', async () => {
  node.faults.foreignLogs = true
  await assert.rejects(logsOf(1), RpcError)
  await assert.rejects(logsOf(1), /asked for block 1 .* got a log of 3/)
})

test('a log whose time is not its block’s is refused', async () => {
  node.faults.timestamps = 'wrong'
  await assert.rejects(logsOf(1), /time differs/)
})

test('a log that comes twice is one log', async () => {
  node.faults.repeatedLogs = true
  assert.equal((await logsOf(1)).length, 2)
})

test('logs of one event do not hide that another event of the block is missing', async () => {
  const [topic0] = transfer.topics
  assert.ok(topic0 !== undefined)
  const pairs = [token, stranger].map((address) => ({ address, topic0 }))
  const both = [{ addresses: [token, stranger], topics, pairs }]
  const header = await source.header(1)
  assert.ok(header !== undefined)
  const claimed = await source.header(2)
  assert.ok(claimed !== undefined)
  // A block whose bloom admits both contracts, of which the node gives one.
  const bloomOfBoth = (BigInt(header.logsBloom) | BigInt(claimed.logsBloom)).toString(16)
  const logsBloom = `0x${bloomOfBoth.padStart(512, '0')}` as const
  node.methods.length = 0
  assert.equal((await fetchBlockLogs(source, both, { ...header, logsBloom })).length, 2)
  assert.ok(node.methods.includes('eth_getBlockReceipts'), 'the receipts were asked')
})
