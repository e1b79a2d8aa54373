import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { Log } from '#domain/chain.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { type Dialect, noFaults } from '#test/chain-builder/faults.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import type { LogFilter } from './log-filter.ts'
import { HistoryReader } from './read-history.ts'
import { openRpcSource } from './rpc-source.ts'

const token = `0x${'11'.repeat(20)}` as const
const alice = `0x${'aa'.repeat(20)}` as const
const bob = `0x${'bb'.repeat(20)}` as const
const [topic] = logOf.burn(token, alice, 1n).topics
assert.ok(topic !== undefined)
const filter = { addresses: [token], topics: [[topic]] }

const blocks = Array.from({ length: 900 }, (_, index) => ({
  logs: index % 7 === 0 ? [] : [logOf.transfer(token, alice, bob, BigInt(index))],
}))
const chain = beginChain(1, 1_700_000_000).add(...blocks)
const wanted = chain.blocks.flatMap((block) =>
  block.logs.map((log) => `${block.number}.${log.logIndex}.${block.timestamp}`),
)
const node = await serveChain(chain)
const source = openRpcSource({ chainId: 1, urls: [node.url] })
after(() => node.stop())
beforeEach(() => {
  Object.assign(node.faults, noFaults())
  node.methods.length = 0
})

/** Reads the whole chain; gives each log as block, index and time. */
async function readAll(filters: readonly LogFilter[] = [filter]): Promise<string[]> {
  const reader = new HistoryReader(source, filters)
  const found: Log[] = []
  for (let from = 0; from <= chain.head.number; ) {
    const range = await reader.read(from, chain.head.number)
    assert.equal(range.from, from)
    found.push(...range.logs)
    from = range.end.number + 1
  }
  return found.map((log) => `${log.blockNumber}.${log.logIndex}.${log.timestamp}`)
}

for (const dialect of ['alchemy', 'infura', 'quicknode', 'geth'] satisfies Dialect[]) {
  test(`a range that ${dialect} refuses shrinks until it fits; no log is missed or doubled`, async () => {
    node.faults.rangeMax = { blocks: 37, dialect }
    assert.deepEqual(await readAll(), wanted)
  })

  test(`an answer that ${dialect} calls too large shrinks the range; no log is missed or doubled`, async () => {
    node.faults.logsMax = { logs: 11, dialect }
    assert.deepEqual(await readAll(), wanted)
  })
}

test('a chain without refusals is read in few requests', async () => {
  assert.deepEqual(await readAll(), wanted)
  assert.equal(node.methods.filter((method) => method === 'eth_getLogs').length, 1)
})

test('a refusal of a single block is an error and no endless loop', async () => {
  node.faults.rangeMax = { blocks: 0, dialect: 'geth' }
  await assert.rejects(readAll(), /exceed maximum block range/)
})

for (const timestamps of ['missing', 'zero'] as const) {
  test(`times that are ${timestamps} come from the headers`, async () => {
    node.faults.timestamps = timestamps
    assert.deepEqual(await readAll(), wanted)
  })
}

test('times that are not those of the blocks are refused', async () => {
  node.faults.timestamps = 'wrong'
  await assert.rejects(readAll(), /time differs/)
})

test('a log that two filters ask for, or that comes twice, is one log', async () => {
  const narrower = { addresses: [token], topics: [[topic], null, null] }
  assert.deepEqual(await readAll([filter, narrower]), wanted)
  node.faults.repeatedLogs = true
  assert.deepEqual(await readAll(), wanted)
})

test('a node that gives logs but not the last block of the range is not believed', async () => {
  node.faults.nullBlocks.add(chain.head.number)
  await assert.rejects(readAll(), /not the block/)
})

for (const kind of ['rate-limit', 'html', 'truncated'] as const) {
  test(`a ${kind} answer is an error and does not make ranges smaller`, async () => {
    const reader = new HistoryReader(source, [filter])
    node.faults.transport = { kind, times: 100 }
    await assert.rejects(reader.read(0, chain.head.number))
    node.faults.transport = undefined
    const range = await reader.read(0, chain.head.number)
    assert.equal(range.end.number, chain.head.number)
  })
}

test('one dense stretch does not keep later ranges small', async () => {
  const reader = new HistoryReader(source, [filter])
  node.faults.logsMax = { logs: 4, dialect: 'infura' }
  let from = (await reader.read(0, chain.head.number)).end.number + 1
  node.faults.logsMax = undefined
  let requests = 0
  for (; from <= chain.head.number; requests += 1)
    from = (await reader.read(from, chain.head.number)).end.number + 1
  assert.ok(requests < 100, `${requests} ranges`)
})

test('an endpoint that fails is passed over for the next one', async () => {
  const hosts: string[] = []
  const both = openRpcSource({
    chainId: 1,
    urls: ['http://127.0.0.1:1', node.url],
    onError: ({ host }) => hosts.push(host),
  })
  assert.equal((await both.header('latest'))?.hash, chain.head.hash)
  assert.deepEqual(hosts, ['127.0.0.1:1'])
})

test('an endpoint that gives nothing cannot stand in for one that wants less at a time', async () => {
  const lagging = await serveChain(chain)
  try {
    Object.assign(node.faults, { rangeMax: { blocks: 5, dialect: 'geth' } })
    lagging.faults.emptyLogs = true
    const both = openRpcSource({ chainId: 1, urls: [node.url, lagging.url] })
    const range = await new HistoryReader(both, [filter]).read(0, chain.head.number)
    assert.ok(range.end.number < 5, 'the range was made smaller')
    assert.ok(range.logs.length > 0, 'and its logs are there')
  } finally {
    await lagging.stop()
  }
})

test('logs are taken only from an endpoint that knows the end of the range itself', async () => {
  const lagging = await serveChain(chain)
  try {
    Object.assign(lagging.faults, { emptyLogs: true, headNumber: 10 })
    const both = openRpcSource({ chainId: 1, urls: [lagging.url, node.url] })
    const range = await new HistoryReader(both, [filter]).read(0, 100)
    assert.ok(range.logs.length > 0)
  } finally {
    await lagging.stop()
  }
})
