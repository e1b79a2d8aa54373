import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, beforeEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  chainScript,
  Refusal,
  requestText,
  scriptedChain,
  scriptedFilter,
  startScriptedNode,
} from '#test/scripted-node.ts'
import type { LogColumns } from '../columns/log-columns.ts'
import { EndpointError, RpcError } from '../rpc-error.ts'
import { type LogsFetcher, type LogsRequest, openLogsFetcher } from './logs-fetcher.ts'
import { openLogsThread } from './logs-thread.ts'

const chain = scriptedChain({ logsPerBlock: (block) => block % 3 })
const script = chainScript(chain)
const node = await startScriptedNode(script)
after(() => node.stop())
beforeEach(() => {
  Object.assign(script, { ...chainScript(chain), intercept: undefined })
})

const [here, thread] = [openLogsFetcher(), openLogsThread()]

const ask = (more: Partial<LogsRequest> = {}): LogsRequest => ({
  ...{ url: node.url, chainId: 1, id: 7, filter: scriptedFilter },
  ...{ from: 0, to: 300, timeoutMs: 5_000 },
  ...more,
})

const logsOf = (columns: LogColumns) =>
  Array.from({ length: columns.count }, (_, index) => columns.log(index))

async function failureOf(fetcher: LogsFetcher, what: LogsRequest): Promise<Error> {
  return fetcher.fetch(what, undefined).then(
    () => assert.fail('it should fail'),
    (error: Error) => error,
  )
}

for (const [name, answer] of [
  ['as they come', undefined],
  ['written otherwise', (text: string) => JSON.stringify(JSON.parse(text), null, 1)],
  ['the logs first', (text: string) => JSON.stringify(JSON.parse(text).reverse())],
  ['compressed', (text: string) => gzipSync(text)],
] as const)
  test(`logs read on another thread are those read on this one: ${name}`, async () => {
    if (answer !== undefined)
      script.intercept = (request) => {
        const headers = name === 'compressed' ? { 'content-encoding': 'gzip' } : {}
        request.outgoing.writeHead(200, headers).end(answer(requestText(script, request)))
        return true
      }
    for (const range of [
      { from: 0, to: 300 },
      { from: 1, to: 1 },
      { from: 3, to: 3 },
    ]) {
      const wanted = await here.fetch(ask(range), undefined)
      const found = await thread.fetch(ask(range), undefined)
      assert.deepEqual(logsOf(found.columns), logsOf(wanted.columns))
      assert.equal(found.wireBytes, wanted.wireBytes)
      assert.deepEqual(found.end, wanted.end)
      assert.equal(found.end?.number, range.to)
      thread.release(found.columns)
    }
  })

test('memory that is given back is used again and changes nothing that is in use', async () => {
  const first = await thread.fetch(ask({ to: 200 }), undefined)
  thread.release(first.columns)
  const kept = await thread.fetch(ask({ to: 100 }), undefined)
  const before = logsOf(kept.columns)
  await Promise.all([1, 2, 3].map(() => thread.fetch(ask({ from: 101 }), undefined)))
  assert.deepEqual(logsOf(kept.columns), before)
})

test('errors are the same as on this thread, with all that they tell', async () => {
  const refusals: readonly (() => never)[] = [
    () => {
      throw new Refusal('eth_getLogs is limited to a 100 range')
    },
    () => {
      throw new Refusal('pruned history unavailable', 4444)
    },
  ]
  for (const refuse of refusals) {
    script.answer = refuse
    const [wanted, found] = [await failureOf(here, ask()), await failureOf(thread, ask())]
    assert.ok(found instanceof EndpointError)
    assert.deepEqual({ ...found }, { ...wanted })
    assert.equal(found.message, wanted.message)
  }
  script.answer = chainScript(scriptedChain({ forkedAt: 0, logsPerBlock: () => 1 })).answer
  const beyond = (fetcher: LogsFetcher) => {
    script.intercept = ({ calls, isBatch, outgoing }) => {
      const params = [{ fromBlock: '0x1', toBlock: '0x9' }]
      const changed = calls.map((call) =>
        call.method === 'eth_getLogs' ? { ...call, params } : call,
      )
      outgoing.end(requestText(script, { calls: changed, isBatch }))
      return true
    }
    return failureOf(fetcher, ask({ from: 5, to: 9 }))
  }
  const [wanted, found] = [await beyond(here), await beyond(thread)]
  assert.ok(found instanceof RpcError && !(found instanceof EndpointError))
  assert.equal(found.message, wanted.message)
})

test('what is no longer wanted ends its request', async () => {
  script.intercept = () => true
  const stop = new AbortController()
  const asked = thread.fetch(ask(), stop.signal)
  setTimeout(() => stop.abort(), 50)
  await assert.rejects(asked, { kind: 'aborted' })
  await assert.rejects(thread.fetch(ask(), stop.signal), { kind: 'aborted' })
})

test('a thread that rests does not keep the process alive', async () => {
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const program = `import { openLogsThread } from ${module('./logs-thread.ts')}
    const thread = openLogsThread()
    const { columns } = await thread.fetch(${JSON.stringify(ask())}, undefined)
    process.stdout.write(String(columns.count))`
  const child = spawn(process.execPath, ['--eval', program])
  const [output] = await Promise.all([child.stdout.toArray(), once(child, 'close')])
  assert.equal(Buffer.concat(output).toString(), '300')
  assert.equal(child.exitCode, 0)
})
