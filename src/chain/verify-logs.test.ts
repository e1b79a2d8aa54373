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

test('a block whose bloom says no is not asked for logs', async () => {
  assert.deepEqual(await logsOf(4), [])
  assert.ok(!node.methods.includes('eth_getLogs'))
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

test('a log of another block is refused', async () => {
  node.faults.foreignLogs = true
  await assert.rejects(logsOf(1), RpcError)
  await assert.rejects(logsOf(1), /asked for block 1 .* got a log of 3/)
})

test('a log whose time is not its block’s is refused', async () => {
  node.faults.timestamps = 'wrong'
  await assert.rejects(logsOf(1), /time differs/)
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
