import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { answerText, movableTiming, type Script, startScriptedNode } from '#test/scripted-node.ts'
import { EndpointError } from '../rpc-error.ts'
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

test('calls of one tick travel together, fifty at most', async () => {
  const before = node.requests.length
  const endpoint = open()
  const values = Array.from({ length: 120 }, (_, index) => index)
  assert.deepEqual(await Promise.all(values.map((value) => echo(endpoint, value))), values)
  const sizes = node.requests.slice(before).map((calls) => calls.length)
  assert.deepEqual(sizes.sort(), [20, 50, 50])
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
