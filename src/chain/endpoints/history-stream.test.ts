import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  chainScript,
  logsOf,
  movableTiming,
  RawJson,
  Refusal,
  requestText,
  type Script,
  type ScriptedCall,
  type ScriptedNode,
  scriptedChain,
  scriptedFilter,
  startScriptedNode,
} from '#test/scripted-node.ts'
import type { HistoryPart, HistoryRequest } from '../chain-source.ts'
import { RpcError } from '../rpc-error.ts'
import { openRpcSource } from '../rpc-source.ts'
import { type LogsAsk, type LogsFetcher, openLogsFetcher } from './logs-fetcher.ts'

const filter = scriptedFilter
const chain = scriptedChain()
let script: Script
let node: ScriptedNode
let spare: ScriptedNode
// New ones each time: a request of another test may still be on its way.
beforeEach(async () => {
  Object.assign(chain, scriptedChain())
  script = chainScript(chain)
  node = await startScriptedNode(script)
  spare = await startScriptedNode(chainScript(chain))
})
afterEach(() => Promise.all([node.stop(), spare.stop()]))

const open = (...nodes: readonly ScriptedNode[]) => openWith(openLogsFetcher(), ...nodes)

const openWith = (fetcher: LogsFetcher, ...nodes: readonly ScriptedNode[]) =>
  openRpcSource({
    ...{ chainId: 1, urls: nodes.map((each) => each.url) },
    ...{ timing: movableTiming(), fetcher },
  })

/** A part, and the heights of its logs: their columns are written over by those of later parts. */
type ReadPart = Omit<HistoryPart, 'columns'> & { readonly heights: readonly number[] }

async function readAll(
  source: ReturnType<typeof open>,
  more: Partial<HistoryRequest> = {},
): Promise<readonly ReadPart[]> {
  const parts: ReadPart[] = []
  const request = { filter, from: 0, to: chain.head, ...more }
  for await (const { columns, ...part } of source.history(request))
    parts.push({ ...part, heights: [...columns.blockNumber.subarray(0, columns.count)] })
  return parts
}

/** Parts follow one another from the first block to the last, and every log is there once. */
function assertWhole(parts: readonly ReadPart[], from = 0, to = chain.head): void {
  let next = from
  for (const part of parts) {
    assert.equal(part.from, next)
    next = part.to + 1
  }
  assert.equal(next, to + 1)
  const wanted: number[] = []
  for (let block = from; block <= to; block += 1)
    for (let log = 0; log < chain.logsPerBlock(block); log += 1) wanted.push(block)
  assert.deepEqual(
    parts.flatMap((part) => part.heights),
    wanted,
  )
}

const rangeOf = ({ params }: ScriptedCall) => {
  const [first] = params as readonly [{ readonly fromBlock: string; readonly toBlock: string }]
  return { from: Number(first.fromBlock), to: Number(first.toBlock) }
}

const isLogs = (call: ScriptedCall | undefined): call is ScriptedCall =>
  call?.method === 'eth_getLogs'

const logRequests = (each: ScriptedNode) => each.requests.flat().filter(isLogs)

/** Each range once: one that is late may be asked twice. */
function rangesAsked(each: ScriptedNode): readonly { from: number; to: number }[] {
  const ranges = logRequests(each).map(rangeOf)
  return [...new Map(ranges.map((range) => [`${range.from} ${range.to}`, range])).values()]
}

/** Refuses ranges, as the text says, until they are short enough. */
function refuseLong(blocksMax: number, refuse: (call: ScriptedCall) => unknown): void {
  const { answer } = chainScript(chain)
  script.answer = (call) => {
    if (isLogs(call) && rangeOf(call).to - rangeOf(call).from >= blocksMax) return refuse(call)
    return answer(call)
  }
}

test('a uniformly dense history takes at most one request in 6,000 logs, and twenty', async () => {
  Object.assign(chain, { head: 60_000, finalized: 59_000, logsPerBlock: () => 4 })
  const source = open(node)
  let logs = 0
  for await (const { columns } of source.history({ filter, from: 0, to: chain.head })) {
    assert.ok(columns.body.length < 6_000_000, `${columns.body.length} bytes`)
    logs += columns.count
  }
  assert.ok(logs > 240_000)
  const requests = logRequests(node).length
  assert.ok(requests <= logs / 6_000 + 20, `${requests} requests`)
})

test('a sparse history of millions of blocks takes few requests', async () => {
  Object.assign(chain, { head: 20_000_000, finalized: 19_000_000 })
  script.answer = (call) => (isLogs(call) ? [] : chainScript(chain).answer(call))
  const parts = await readAll(open(node))
  assert.equal(parts.at(-1)?.to, chain.head)
  assert.ok(logRequests(node).length <= 12)
})

test('the first request is 2,000 blocks, alone; then several are in flight', async () => {
  Object.assign(chain, { head: 40_000, logsPerBlock: () => 4 })
  let inFlight = 0
  const counts: number[] = []
  script.intercept = (request) => {
    if (!request.calls.some(isLogs)) return false
    inFlight += 1
    counts.push(inFlight)
    setTimeout(() => {
      inFlight -= 1
      request.outgoing.end(requestText(script, request))
    }, 30)
    return true
  }
  assertWhole(await readAll(open(node)))
  const [first] = logRequests(node)
  assert.ok(first !== undefined)
  assert.deepEqual(rangeOf(first), { from: 0, to: 1_999 })
  assert.deepEqual(counts.slice(0, 2), [1, 1])
  assert.ok(Math.max(...counts) >= 3, `${counts}`)
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

test('the range that a node says would fit is the next one', async () => {
  refuseLong(100, (call) => {
    const { from } = rangeOf(call)
    const range = `[0x${from.toString(16)}, 0x${(from + 79).toString(16)}]`
    throw new Refusal(`query returned more than 10000 results. Try with this block range ${range}.`)
  })
  assertWhole(await readAll(open(node)))
  const [, second] = rangesAsked(node)
  assert.deepEqual(second, { from: 0, to: 79 })
})

test('a node that suggests the range that it refused is not asked for ever', async () => {
  refuseLong(100, (call) => {
    const { from, to } = rangeOf(call)
    throw new Refusal(`too many results, retry with the range ${from}-${to}`)
  })
  assertWhole(await readAll(open(node)))
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

/** A fetcher whose first answers come to what `fail` throws. */
function failing(fail: (ask: LogsAsk) => void): LogsFetcher {
  const fetcher = openLogsFetcher()
  return {
    ...fetcher,
    async fetch(ask, signal) {
      const fetched = await fetcher.fetch(ask, signal)
      fail(ask)
      return fetched
    },
  }
}

test('what cannot be read is asked for in halves, elsewhere', async () => {
  const reads: number[] = []
  const fetcher = failing(({ from, to }) => {
    reads.push(to - from + 1)
    if (reads.length === 1) throw new RpcError('a log of another block')
  })
  const parts = await readAll(openWith(fetcher, node, spare))
  assertWhole(parts)
  assert.deepEqual(reads, [1_001, 501, 500])
  assert.equal(parts[0]?.host, spare.host)
})

test('a bug of the reader is no fault of a node', async () => {
  const fetcher = failing(() => {
    throw new TypeError('bug')
  })
  await assert.rejects(readAll(openWith(fetcher, node)), TypeError)
})

test('a consumer that is slow is not flooded', async () => {
  Object.assign(chain, { head: 200_000, logsPerBlock: () => 0 })
  refuseLong(1_000, () => {
    throw new Refusal('limited to 1000 blocks')
  })
  const parts = open(node).history({ filter, from: 0, to: chain.head })
  const iterator = parts[Symbol.asyncIterator]()
  await iterator.next()
  await new Promise((resolve) => setTimeout(resolve, 300))
  const asked = rangesAsked(node).length
  assert.ok(asked <= 18, `${asked} requests`)
  await iterator.return?.(undefined)
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

test('the consumer’s signal ends the history with its reason', async () => {
  script.intercept = ({ calls }) => calls.some(isLogs)
  const stop = new AbortController()
  setTimeout(() => stop.abort(new Error('shutting down')), 30)
  await assert.rejects(readAll(open(node), { signal: stop.signal }), /shutting down/)
})

test('each range is answered together with its last block, by one node', async () => {
  const [part] = await readAll(open(node), { to: 900 })
  assert.deepEqual(part?.end, { number: 900, hash: `0x00${'0'.repeat(59)}384` })
  const request = node.requests.find((calls) => calls.some(isLogs))
  assert.deepEqual(
    request?.map(({ method }) => method),
    ['eth_getBlockByNumber', 'eth_getLogs'],
  )
})

test('a node that does not know the last block of a range is not believed to know its logs', async () => {
  let behind = 0
  script.intercept = ({ calls, isBatch, outgoing }) => {
    if (!calls.some(isLogs) || behind >= 3) return false
    behind += 1
    const short = chainScript({ ...chain, head: 300 })
    outgoing.end(requestText(short, { calls, isBatch }))
    return true
  }
  assertWhole(await readAll(open(node)))
  assert.equal(behind, 3)
})

const noBatches: readonly (readonly [string, number, string])[] = [
  ['its words', 400, '{"error":{"code":-32600,"message":"invalid request"}}'],
  ['a plain text', 403, 'batch requests are not available on this plan'],
  ['HTTP 501', 501, 'not implemented'],
  ['an answer to the first call alone', 200, '{"jsonrpc":"2.0","id":1,"result":null}'],
]
for (const [name, status, text] of noBatches)
  test(`an endpoint that takes no two calls at once is asked for logs alone: ${name}`, async () => {
    let batches = 0
    script.intercept = ({ calls, isBatch, outgoing }) => {
      if (!isBatch || !calls.some(isLogs)) return false
      batches += 1
      outgoing.writeHead(status).end(text)
      return true
    }
    Object.assign(chain, { head: 20_000 })
    const parts = await readAll(open(node))
    assertWhole(parts)
    assert.ok(batches <= 3, `${batches} requests with two calls`)
    assert.ok(parts.length > 2 && parts.every((part) => part.end === undefined))
  })

for (const status of [400, 413])
  test(`a stray HTTP ${status} turns off no guard against a node that is behind`, async () => {
    let requests = 0
    script.intercept = ({ calls, isBatch, outgoing }) => {
      if (!calls.some(isLogs)) return false
      requests += 1
      if (requests === 1) outgoing.writeHead(status).end('header not found')
      else if (requests % 3 === 0)
        outgoing.end(requestText(chainScript({ ...chain, head: 300 }), { calls, isBatch }))
      else return false
      return true
    }
    Object.assign(chain, { head: 20_000 })
    assertWhole(await readAll(open(node)))
  })

test('an endpoint that never knows the last block is asked last', async () => {
  Object.assign(chain, { head: 40_000 })
  script.answer = (call) => {
    const isOld = Number(call.params[0]) < chain.head
    if (call.method === 'eth_getBlockByNumber' && isOld) return null
    return isLogs(call) ? [] : chainScript(chain).answer(call)
  }
  const source = open(node, spare)
  assertWhole(await readAll(source))
  assert.equal(source.endpoints()[0]?.state, 'pruned')
  assert.ok(logRequests(node).length < logRequests(spare).length)
})

test('a refusal of the whole request counts as one of the logs, with what it tells', async () => {
  Object.assign(chain, { head: 6_000 })
  script.intercept = ({ calls, outgoing }) => {
    const call = calls.find(isLogs)
    if (call === undefined || rangeOf(call).to - rangeOf(call).from < 700) return false
    const error = { code: -32_000, message: 'eth_getLogs is limited to a 700 range' }
    outgoing.end(JSON.stringify([{ jsonrpc: '2.0', id: null, error }]))
    return true
  }
  const source = open(node)
  assertWhole(await readAll(source))
  const [status] = source.endpoints()
  assert.deepEqual([status?.rangeMax, status?.refused], [700, 1])
})

test('a part of history is that part and no more', async () => {
  assertWhole(await readAll(open(node), { from: 17, to: 333 }), 17, 333)
  assert.deepEqual(await readAll(open(node), { from: 5, to: 4 }), [])
})
