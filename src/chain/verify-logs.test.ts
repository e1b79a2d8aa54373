import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { fetchBlockLogs, verifyLogs } from './follow.ts'
import { RpcError } from './rpc-error.ts'
import { openRpcSource } from './rpc-source.ts'

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

test('an empty list from a node without receipts must agree with the list by number', async () => {
  node.faults.receipts = 'unsupported'
  for (const blooms of ['right', 'of-parent'] as const) {
    node.faults.blooms = blooms
    node.faults.hiddenLogs = 'all'
    await assert.rejects(logsOf(1), /the node returned 0 logs, but its list by number holds 2 more/)
    node.faults.hiddenLogs = 'none'
    assert.equal((await logsOf(1)).length, 2)
  }
})

test('a list by number of another branch says nothing about the block', async () => {
  node.faults.emptyLogs = true
  node.faults.receipts = 'unsupported'
  const header = await source.header(1)
  const other = await source.header(2)
  assert.ok(header !== undefined && other !== undefined)
  const logsInRange = async () => {
    node.faults.emptyLogs = false
    const logs = await source.logsInBlock(filters[0] ?? assert.fail(), header.hash)
    return logs.map((log) => ({ ...log, blockHash: other.hash }))
  }
  assert.deepEqual(await fetchBlockLogs({ ...source, logsInRange }, filters, header), [])
})

test('a bloom that does not hash with its header hides no log and accuses no node', async () => {
  node.faults.blooms = 'of-parent'
  assert.equal((await source.header(3))?.logsBloom, null)
  assert.equal((await logsOf(1)).length, 2)
  const [topic0] = transfer.topics
  assert.ok(topic0 !== undefined)
  const header = await source.header(3)
  assert.ok(header !== undefined)
  const pairs = [token, stranger].map((address) => ({ address, topic0 }))
  const both = [{ addresses: [token, stranger], topics, pairs }]
  assert.equal((await fetchBlockLogs(source, both, header)).length, 1)
})

test('with an unknown bloom, every list of logs must agree with the receipts', async () => {
  node.faults.blooms = 'of-parent'
  node.faults.emptyLogs = true
  await assert.rejects(logsOf(1), /the node returned 0 logs, but its receipts hold 2 more/)
  Object.assign(node.faults, { emptyLogs: false, forgedLogs: true })
  await assert.rejects(logsOf(1), /the node returned 3 logs, but its receipts lack 1 of them/)
})

test('an empty list without receipts is believed if the list by number is empty too, unless the block is unknown', async () => {
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

test('logs numbered per transaction are all kept, in the order of their transactions', async () => {
  const header = await source.header(1)
  assert.ok(header !== undefined)
  const [log] = await source.logsInBlock({ addresses: [token], topics }, header.hash)
  assert.ok(log !== undefined)
  const at = (txIndex: number, logIndex: number) => ({ ...log, txIndex, logIndex })
  const places = verifyLogs(header, [at(3, 0), at(1, 1), at(1, 0), at(3, 0), at(2, 0)]).map(
    ({ txIndex, logIndex }) => [txIndex, logIndex],
  )
  assert.deepEqual(places, [
    [1, 0],
    [1, 1],
    [2, 0],
    [3, 0],
  ])
})

test('two different logs at one place of a block are a lie', async () => {
  const header = await source.header(1)
  assert.ok(header !== undefined)
  const [log] = await source.logsInBlock({ addresses: [token], topics }, header.hash)
  assert.ok(log !== undefined)
  const changes = [
    { address: stranger },
    { topics: [...log.topics].reverse() },
    { data: '0x' },
    { txHash: header.hash },
  ] as const
  for (const change of changes)
    assert.throws(
      () => verifyLogs(header, [log, { ...log, ...change }]),
      (error) =>
        error instanceof RpcError &&
        error.lie &&
        /block 1 0x\w+: .* transaction index 0 and log index 0/.test(error.message),
    )
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
  const bloomOfBoth = (BigInt(header.logsBloom ?? 0) | BigInt(claimed.logsBloom ?? 0)).toString(16)
  const logsBloom = `0x${bloomOfBoth.padStart(512, '0')}` as const
  node.methods.length = 0
  assert.equal((await fetchBlockLogs(source, both, { ...header, logsBloom })).length, 2)
  assert.ok(node.methods.includes('eth_getBlockReceipts'), 'the receipts were asked')
})
