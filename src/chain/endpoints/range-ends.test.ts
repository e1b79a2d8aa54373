import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertWhole,
  chain,
  isLogs,
  logRequests,
  node,
  open,
  rangeOf,
  readAll,
  script,
  spare,
  useNodes,
} from '#test/history-harness.ts'
import { chainScript, requestText } from '#test/scripted-node.ts'

useNodes()

test('each range is answered together with its last block, by one node', async () => {
  const [part] = await readAll(open(node), { to: 900 })
  assert.equal(part?.end.number, 900)
  assert.equal(part.end.hash, `0x00${'0'.repeat(59)}384`)
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
  [
    'a limit of batches in words of size',
    200,
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}',
  ],
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
    assert.ok(batches <= 6, `${batches} requests with two calls`)
    assert.ok(parts.length > 2)
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
