import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { EndpointError } from '#chain/rpc-error.ts'
import {
  answerText,
  movableTiming,
  Refusal,
  type Script,
  type ScriptedRequest,
  startScriptedNode,
} from '#test/scripted-node.ts'
import { Endpoint } from './endpoint.ts'

const script: Script = { answer: ({ params }) => params[0] }
const node = await startScriptedNode(script)
const errors: string[] = []
after(() => node.stop())
beforeEach(() => {
  script.answer = ({ params }) => params[0]
  script.intercept = undefined
  errors.length = 0
})

function open(path = ''): Endpoint {
  const onError = ({ message }: { readonly message: string }) => errors.push(message)
  const deps = { chainId: 1, timing: movableTiming(), onEvent: () => {}, onError }
  return new Endpoint(deps, `${node.url}${path}`)
}

const echo = (endpoint: Endpoint, value: number) =>
  endpoint.call({ method: 'echo', params: [value] })

async function kindOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    (value) => assert.fail(`got ${value}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof EndpointError, String(error))
  return error.kind
}

function reply(text: string | Buffer, status = 200, headers: Record<string, string> = {}) {
  script.intercept = ({ outgoing }: ScriptedRequest) => {
    outgoing.writeHead(status, headers).end(text)
    return true
  }
}

test('calls of one tick travel together, fifty at most', async () => {
  const before = node.requests.length
  const endpoint = open()
  const values = Array.from({ length: 120 }, (_, index) => index)
  assert.deepEqual(await Promise.all(values.map((value) => echo(endpoint, value))), values)
  const sizes = node.requests.slice(before).map((calls) => calls.length)
  assert.deepEqual(sizes.sort(), [20, 50, 50])
})

test('answers of a batch find their calls in whatever order they come', async () => {
  script.intercept = ({ calls, outgoing }) => {
    outgoing.end(
      `[${calls
        .map((call) => answerText(script, call))
        .reverse()
        .join(',')}]`,
    )
    return true
  }
  const endpoint = open()
  assert.deepEqual(await Promise.all([1, 2, 3].map((value) => echo(endpoint, value))), [1, 2, 3])
})

test('an error of one call of a batch is no error of the others', async () => {
  script.answer = ({ params }) => {
    if (params[0] === 2) throw new Refusal('unknown block')
    return params[0]
  }
  const endpoint = open()
  const outcomes = await Promise.allSettled([1, 2, 3].map((value) => echo(endpoint, value)))
  assert.deepEqual(
    outcomes.map((each) => each.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(errors, [`${node.host} echo: unknown block (code -32000)`])
})

const refusals: readonly (readonly [string, number, string])[] = [
  ['an error object', 200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'],
  ['plain text', 400, 'Batch requests are not supported'],
]
for (const [how, status, text] of refusals)
  test(`an endpoint that refuses batches by ${how} is remembered and gets single calls`, async () => {
    script.intercept = ({ isBatch, outgoing }) => {
      if (isBatch) outgoing.writeHead(status).end(text)
      return isBatch
    }
    const endpoint = open()
    const ask = () => Promise.all([1, 2, 3].map((value) => echo(endpoint, value)))
    assert.deepEqual(await ask(), [1, 2, 3])
    const before = node.requests.length
    assert.deepEqual(await ask(), [1, 2, 3])
    assert.deepEqual(
      node.requests.slice(before).map((calls) => calls.length),
      [1, 1, 1],
    )
  })

test('an endpoint that takes only short batches gets short ones', async () => {
  script.intercept = ({ calls, outgoing }) => {
    const isLong = calls.length > 10
    if (isLong) outgoing.end('{"error":{"code":-32600,"message":"max batch size is 10"},"id":null}')
    return isLong
  }
  const endpoint = open()
  const values = Array.from({ length: 25 }, (_, index) => index)
  assert.deepEqual(await Promise.all(values.map((value) => echo(endpoint, value))), values)
})

test('an answer with another id is not taken, alone or in a batch', async () => {
  script.intercept = ({ calls, isBatch, outgoing }) => {
    const texts = calls.map((call) => answerText(script, { ...call, id: call.id + 1_000 }))
    outgoing.end(isBatch ? `[${texts.join(',')}]` : texts[0])
    return true
  }
  const endpoint = open()
  assert.equal(await kindOf(echo(endpoint, 1)), 'malformed')
  const both = await Promise.allSettled([echo(endpoint, 1), echo(endpoint, 2)])
  assert.ok(both.every((each) => each.status === 'rejected'))
})

test('an answer without an id or without a result is not taken', async () => {
  reply('{"jsonrpc":"2.0","result":1}')
  assert.equal(await kindOf(echo(open(), 1)), 'malformed')
  script.intercept = ({ calls, outgoing }) => {
    outgoing.end(`{"jsonrpc":"2.0","id":${calls[0]?.id}}`)
    return true
  }
  assert.equal(await kindOf(echo(open(), 1)), 'malformed')
})

test('a call that a batch leaves out fails; the others do not', async () => {
  script.intercept = ({ calls, outgoing }) => {
    outgoing.end(`[${calls.slice(1).map((call) => answerText(script, call))}]`)
    return true
  }
  const endpoint = open()
  const outcomes = await Promise.allSettled([1, 2].map((value) => echo(endpoint, value)))
  assert.deepEqual(
    outcomes.map((each) => each.status),
    ['rejected', 'fulfilled'],
  )
})

test('pages, garbage and halves of answers are errors of their kind', async () => {
  reply('<html>Bad gateway</html>', 502)
  assert.equal(await kindOf(echo(open(), 1)), 'unreachable')
  reply('<html>Welcome</html>')
  assert.equal(await kindOf(echo(open(), 1)), 'malformed')
  reply('{"jsonrpc":"2.0","id":2,"res')
  assert.equal(await kindOf(echo(open(), 1)), 'cut-off')
  reply('garbage', 200, { 'content-encoding': 'gzip' })
  assert.equal(await kindOf(echo(open(), 1)), 'malformed')
  reply(gzipSync('"text"'), 200, { 'content-encoding': 'gzip' })
  assert.equal(await kindOf(echo(open(), 1)), 'malformed')
})

test('a page that repeats the key of the URL does not bring it into an error', async () => {
  const key = 'k3y0123456789abcdef'
  script.intercept = ({ incoming, outgoing }) => {
    outgoing.writeHead(404).end(`Cannot POST ${incoming.url}`)
    return true
  }
  const refused = echo(open(`/${key}`), 1)
  await assert.rejects(refused, (error: Error) => !error.message.includes(key))
  assert.equal(errors.length, 1)
  assert.doesNotMatch(errors.join(), new RegExp(key))
})
