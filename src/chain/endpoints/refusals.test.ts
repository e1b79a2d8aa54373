import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRefusal } from './refusals.ts'

const asked = { method: 'eth_getLogs', status: 200, blocksAsked: 16_000 }

const caps: readonly (readonly [string, number])[] = [
  ['eth_getLogs is limited to a 10,000 range', 10_000],
  ['eth_getLogs is limited to 0 - 10000 blocks range', 10_000],
  ['eth_getLogs and eth_newFilter are limited to a 10,000 blocks range', 10_000],
  ['exceed maximum block range: 5000', 5_000],
  ['query exceeds max block range 1000', 1_000],
  ['block range greater than 10000 max', 10_000],
  ['Block range too large: 16000 blocks requested, at most 2000 blocks', 2_000],
  ['ranges over 10000 blocks are not supported on freetier', 10_000],
  ['please limit the query to at most 1000 blocks', 1_000],
  ['Max range: 800', 800],
  ['Maximum allowed number of requested blocks is 3500', 3_500],
  ['block range is too wide (limited to 2K blocks)', 2_000],
  ['query must be smaller than size 1024', 1_024],
  ['Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.', 10],
]
for (const [message, blocks] of caps)
  test(`"${message}" is a cap of ${blocks} blocks`, () => {
    assert.deepEqual(readRefusal({ ...asked, message }), { kind: 'too-large', blocksMax: blocks })
  })

const results: readonly string[] = [
  'query returned more than 10000 results',
  'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.',
  'query exceeds max results 20000',
  'Too many logs requested. Max logs per response is 20000.',
  'backend response too large',
  'block range is too large',
  'response body exceeds 150 MB',
]
for (const message of results)
  test(`"${message.slice(0, 60)}" is no cap of blocks`, () => {
    assert.deepEqual(readRefusal({ ...asked, message }), { kind: 'too-large' })
  })

test('a suggested range is taken only when it is narrower than the refused one', () => {
  const words = 'query returned more than 10000 results. Try with this block range'
  const narrower = readRefusal({ ...asked, message: `${words} [0x64, 0x833].` })
  assert.deepEqual(narrower, { kind: 'too-large', blocksThatFit: 2_000 })
  const same = readRefusal({ ...asked, message: `${words} [0x0, 0x3e7f].` })
  assert.deepEqual(same, { kind: 'too-large' })
  const reth = 'query exceeds max results 20000, retry with the range 100-2099'
  assert.equal(readRefusal({ ...asked, message: reth }).blocksThatFit, 2_000)
})

test('a cap that is not narrower than what was asked for is no cap', () => {
  const message = 'exceed maximum block range: 50000'
  assert.deepEqual(readRefusal({ ...asked, message }), { kind: 'too-large' })
})

const hasty = [
  'Too Many Requests',
  'rate limit exceeded',
  'Your app has exceeded its compute units per second capacity.',
  'daily request count exceeded, request rate limited',
  'project ID request rate exceeded',
]
for (const message of hasty)
  test(`"${message}" asks for calm, whatever was called`, () => {
    assert.equal(readRefusal({ ...asked, message }).kind, 'too-fast')
    assert.equal(readRefusal({ ...asked, method: 'eth_call', message }).kind, 'too-fast')
  })

test('a status counts where words are missing', () => {
  const kind = (status: number) => readRefusal({ ...asked, status, message: '' }).kind
  assert.equal(kind(429), 'too-fast')
  assert.equal(kind(413), 'too-large')
  assert.equal(kind(504), 'timeout')
  assert.equal(kind(502), 'unreachable')
  assert.equal(kind(401), 'unreachable')
  assert.equal(kind(400), 'refused')
})

test('a missing method is told from everything else by its code or its words', () => {
  const call = { method: 'eth_getBlockReceipts', status: 200 }
  assert.equal(readRefusal({ ...call, message: 'nope', code: -32_601 }).kind, 'no-method')
  assert.equal(readRefusal({ ...call, message: 'Unsupported method' }).kind, 'no-method')
  assert.equal(readRefusal({ ...call, message: 'block not found' }).kind, 'refused')
})

test('dropped history is told from a refusal of the size', () => {
  const kind = (message: string, code?: number) => readRefusal({ ...asked, message, code }).kind
  assert.equal(kind('pruned history unavailable', 4444), 'pruned')
  assert.equal(kind('missing trie node 0xabc (path )'), 'pruned')
  assert.equal(kind('historical state is not available'), 'pruned')
})

test('a contract that refuses is no trouble of the node', () => {
  const call = { method: 'eth_call', status: 200, message: 'execution reverted', code: 3 }
  assert.equal(readRefusal(call).kind, 'reverted')
  const bare = ['InvalidFEOpcode', 'InvalidJump', 'StackUnderflow', 'invalid jump destination']
  for (const message of bare)
    assert.equal(readRefusal({ ...call, message, code: -32_000 }).kind, 'reverted')
})
