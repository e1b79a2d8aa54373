import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertWhole,
  chain,
  isLogs,
  node,
  open,
  readAll,
  script,
  useNodes,
} from '#test/history-harness.ts'
import { chainScript, requestText } from '#test/scripted-node.ts'

useNodes()

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
  ['HTTP 413', 413, 'request entity too large'],
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
