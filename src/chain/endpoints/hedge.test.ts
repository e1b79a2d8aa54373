import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  chainScript,
  requestText,
  type ScriptedCall,
  type ScriptedNode,
  scriptedChain,
  startScriptedNode,
} from '#test/scripted-node.ts'
import { openRpcSource } from '../rpc-source.ts'

const filter = { addresses: [`0x${'11'.repeat(20)}`], topics: [] } as const
const chain = scriptedChain({ head: 100_000, finalized: 99_000 })
const [node, spare] = await Promise.all([
  startScriptedNode(chainScript(chain)),
  startScriptedNode(chainScript(chain)),
])
after(() => Promise.all([node.stop(), spare.stop()]))
beforeEach(() => {
  for (const each of [node, spare]) each.script.intercept = undefined
})

const fromOf = (call: ScriptedCall | undefined) =>
  call?.method === 'eth_getLogs'
    ? Number((call.params[0] as { readonly fromBlock: string }).fromBlock)
    : undefined

/** Answers eight ranges at once, so that it is known what is late, then hangs on one. */
function hangOnce(each: ScriptedNode): void {
  let answered = 0
  let hasHung = false
  each.script.intercept = ({ calls }) => {
    if (!calls.some((call) => fromOf(call) !== undefined)) return false
    answered += 1
    if (answered <= 8 || hasHung) return false
    hasHung = true
    return true
  }
}

async function readAll(source: ReturnType<typeof openRpcSource>, to = 50_000): Promise<string[]> {
  const hosts: string[] = []
  let next = 0
  const request = { filter, from: 0, to, read: (body: Uint8Array) => body.byteLength }
  for await (const part of source.history(request)) {
    assert.equal(part.from, next)
    next = part.to + 1
    hosts.push(part.host)
  }
  assert.equal(next, to + 1)
  return hosts
}

/** Short ranges, so that there are many. */
function capRanges(each: ScriptedNode): void {
  const { answer } = chainScript(chain)
  each.script.answer = (call) => {
    const from = fromOf(call)
    if (from === undefined) return answer(call)
    return []
  }
}

test('a range that is late is asked of another endpoint, whose answer is taken', async () => {
  for (const each of [node, spare]) capRanges(each)
  hangOnce(node)
  const source = openRpcSource({ chainId: 1, urls: [node.url, spare.url] })
  const startedMs = Date.now()
  // Histories of one range each: what is late is known across them.
  for (let times = 0; times < 8; times += 1) await readAll(source, 1_000)
  assert.deepEqual(await readAll(source, 1_000), [spare.host])
  const tookMs = Date.now() - startedMs
  assert.ok(tookMs >= 500 && tookMs < 1_500, `${tookMs} ms`)
  assert.deepEqual(
    source.endpoints().map((each) => each.hedged),
    [0, 1],
  )
})

test('with one endpoint alone a late range is asked of it once more', async () => {
  capRanges(node)
  hangOnce(node)
  const source = openRpcSource({ chainId: 1, urls: [node.url] })
  for (let times = 0; times < 9; times += 1) await readAll(source, 1_000)
  assert.equal(source.endpoints()[0]?.hedged, 1)
  await new Promise(setImmediate)
  assert.equal(source.endpoints()[0]?.inFlight, 0)
})

test('where everything becomes slow, one range in twenty is asked twice and no more', async () => {
  capRanges(node)
  const source = openRpcSource({ chainId: 1, urls: [node.url] })
  for (let times = 0; times < 8; times += 1) await readAll(source, 1_000)
  node.script.intercept = (request) => {
    if (!request.calls.some((call) => fromOf(call) !== undefined)) return false
    setTimeout(() => request.outgoing.end(requestText(node.script, request)), 700)
    return true
  }
  await Promise.all([1, 2, 3, 4].map(() => readAll(source, 1_000)))
  assert.equal(source.endpoints()[0]?.hedged, 1)
})
