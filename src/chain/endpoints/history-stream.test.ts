import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertWhole,
  chain,
  filter,
  isLogs,
  logRequests,
  node,
  open,
  rangeOf,
  rangesAsked,
  readAll,
  refuseLong,
  script,
  spare,
  useNodes,
} from '#test/history-harness.ts'
import {
  chainScript,
  logsOf,
  RawJson,
  Refusal,
  requestText,
  type ScriptedCall,
} from '#test/scripted-node.ts'

useNodes()

test('a uniformly dense history takes at most one request in 6,000 logs, and twenty', async () => {
  Object.assign(chain, { head: 60_000, finalized: 59_000, logsPerBlock: () => 4 })
  const source = open(node)
  let logs = 0
  for await (const part of source.history({ filter, from: 0, to: chain.head })) {
    assert.ok(part.bytes < 6_000_000, `${part.bytes} bytes`)
    logs += part.logs.length
  }
  assert.ok(logs > 240_000)
  const requests = logRequests(node).length
  assert.ok(requests <= logs / 6_000 + 20, `${requests} requests`)
})

const dialects: readonly (readonly [string, string])[] = [
  [
    'alchemy',
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.',
  ],
  ['infura', 'query returned more than 10000 results'],
  ['quicknode', 'eth_getLogs is limited to a 100 range'],
  ['geth', 'exceed maximum block range: 100'],
  ['unknown', 'computer says no'],
]
for (const [name, text] of dialects)
  test(`what ${name} refuses is asked for in smaller ranges, without a gap`, async () => {
    refuseLong(100, () => {
      throw new Refusal(text)
    })
    assertWhole(await readAll(open(node)))
  })

test('a cap of blocks is remembered: it is refused once', async () => {
  Object.assign(chain, { head: 6_000 })
  refuseLong(100, () => {
    throw new Refusal('eth_getLogs is limited to a 100 range')
  })
  const source = open(node)
  assertWhole(await readAll(source))
  const [status] = source.endpoints()
  assert.deepEqual([status?.rangeMax, status?.refused], [100, 1])
})

const breaks: readonly (readonly [string, number, (text: string) => string])[] = [
  ['HTTP 413', 413, () => 'too large'],
  ['HTTP 504', 504, () => '<html>timeout</html>'],
  ['truncated JSON', 200, (text) => text.slice(0, text.length / 2)],
  ['an empty body', 200, () => ''],
]
for (const [name, status, change] of breaks)
  test(`${name} in place of a long range is no gap`, async () => {
    script.intercept = (request) => {
      const call = request.calls.find(isLogs)
      if (call === undefined || rangeOf(call).to - rangeOf(call).from < 300) return false
      if (name === 'an empty body' && node.count('eth_getLogs') % 2 === 0) return false
      request.outgoing.writeHead(status).end(change(requestText(script, request)))
      return true
    }
    assertWhole(await readAll(open(node)))
  })

test('an answer larger than 64 MB is asked for in halves', async () => {
  script.intercept = ({ calls, outgoing }) => {
    const call = calls.find(isLogs)
    if (call === undefined || rangeOf(call).to - rangeOf(call).from < 300) return false
    outgoing.writeHead(200, { 'content-length': 70_000_000 }).write('{"result":[')
    return true
  }
  assertWhole(await readAll(open(node)))
})

test('a single block that is refused everywhere is an error and no endless loop', async () => {
  for (const each of [node, spare])
    each.script.answer = (call) => {
      if (isLogs(call)) throw new Refusal('exceed maximum block range: 0')
      return chainScript(chain).answer(call)
    }
  await assert.rejects(readAll(open(node, spare)), /exceed maximum block range/)
})

test('a block of more logs than the node returns is read from its receipts', async () => {
  chain.logsPerBlock = (block) => (block === 500 ? 40 : 1)
  const { answer } = chainScript(chain)
  script.answer = (call) => {
    const block = 500
    if (call.method === 'eth_getBlockReceipts')
      return [{ logs: logsOf(chain, { from: block, to: block }).map((log) => JSON.parse(log)) }]
    if (isLogs(call) && rangeOf(call).from <= block && rangeOf(call).to >= block)
      throw new Refusal('query returned more than 10000 results')
    return answer(call)
  }
  assertWhole(await readAll(open(node)))
  assert.equal(node.count('eth_getBlockReceipts'), 1)
})

test('a node that takes ten addresses is asked for them in groups', async () => {
  const others = Array.from(
    { length: 24 },
    (_, index) => `0x${`${index + 30}`.repeat(20)}` as const,
  )
  const addresses = [...others, ...(filter.addresses ?? [])]
  const addressesOf = ({ params }: ScriptedCall) =>
    (params as readonly [{ readonly address: readonly string[] }])[0].address
  script.answer = (call) => {
    if (isLogs(call) && addressesOf(call).length > 10)
      throw new Refusal('eth_getLogs takes at most 10 addresses')
    const isOther = isLogs(call) && !addressesOf(call).includes(addresses.at(-1) ?? '')
    return isOther ? [] : chainScript(chain).answer(call)
  }
  assertWhole(await readAll(open(node), { filter: { ...filter, addresses } }))
  const refused = logRequests(node).filter((call) => addressesOf(call).length > 10)
  assert.equal(refused.length, 2)
})

test('after HTTP 429 the same range is asked again when the time has come', async () => {
  let refused = 0
  script.intercept = ({ calls, outgoing }) => {
    if (!calls.some(isLogs) || refused >= 2) return false
    refused += 1
    outgoing.writeHead(429, { 'retry-after': '20' }).end('slow down')
    return true
  }
  const startedMs = Date.now()
  assertWhole(await readAll(open(node)))
  const ranges = logRequests(node).map((call) => rangeOf(call).to)
  assert.deepEqual(ranges, [1_000, 1_000, 1_000])
  assert.ok(Date.now() - startedMs < 1_000)
})

test('what one node cuts off is asked of another one, at once and not block by block', async () => {
  script.intercept = ({ calls, outgoing }) => {
    if (!calls.some(isLogs)) return false
    outgoing.writeHead(200, { 'content-length': '1000' }).write('[')
    outgoing.socket?.end()
    return true
  }
  const parts = await readAll(open(node, spare), { to: 1_000 })
  assertWhole(parts, 0, 1_000)
  assert.ok(parts.length < 10, `${parts.length} parts`)
})

test('large answers that nobody takes stay below 25 MB', async () => {
  Object.assign(chain, { head: 400_000 })
  script.intercept = ({ calls, isBatch, outgoing }) => {
    const call = calls.find(isLogs)
    if (call === undefined) return false
    const { from } = rangeOf(call)
    const [text = ''] = logsOf({ ...chain, head: from, logsPerBlock: () => 1 }, { from, to: from })
    const large = text.replace('"data":"0x', `"data":"0x${'0'.repeat(5_000_000)}`)
    const answer = (each: ScriptedCall) =>
      isLogs(each) ? new RawJson(`[${large}]`) : script.answer(each)
    outgoing.end(requestText({ answer }, { calls, isBatch }))
    return true
  }
  const parts = open(node).history({ filter, from: 0, to: chain.head })
  const iterator = parts[Symbol.asyncIterator]()
  await iterator.next()
  await new Promise((resolve) => setTimeout(resolve, 700))
  const asked = rangesAsked(node).length
  assert.ok(asked > 1 && asked <= 5, `${asked} requests`)
  await iterator.return?.(undefined)
})

test('leaving early ends the requests under way', async () => {
  Object.assign(chain, { head: 40_000, logsPerBlock: () => 4 })
  let closed = 0
  script.intercept = ({ calls, outgoing }) => {
    const call = calls.find(isLogs)
    if (call === undefined || rangeOf(call).from === 0) return false
    outgoing.on('close', () => {
      closed += 1
    })
    return true
  }
  const source = open(node)
  for await (const _ of source.history({ filter, from: 0, to: chain.head })) {
    // The next requests are on their way by then.
    await new Promise((resolve) => setTimeout(resolve, 50))
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(closed > 0)
  assert.equal(source.endpoints()[0]?.inFlight, 0)
  assert.equal(source.endpoints()[0]?.failed, 0)
})
