import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { capturedExamples } from '#api/examples.ts'
import { named } from '#base/schema.ts'
import { defineRoute } from '#route.ts'
import { NamedSchemas, toOpenApi } from './openapi.ts'

const post = (operationId: string, body: TSchema) =>
  defineRoute({
    ...{ method: 'POST', path: `/api/${operationId}`, operationId, tag: 'Test', metered: false },
    ...{ summary: 'Posts', description: 'For tests', parameters: {}, answers: {}, refusals: [] },
    body,
    handle: async () => ({ kind: 'answer', status: 200, body: {} }),
  })

test('a body is required only where an empty one is refused', () => {
  const document = toOpenApi({
    info: { title: 'Test', version: '1' },
    serverUrl: 'https://api.example',
    routes: [
      post('needed', Type.Object({ text: Type.String() })),
      post('optional', Type.Object({ text: Type.Optional(Type.String()) })),
    ],
    tags: [],
    bearerFormat: 'key',
    paymentRequired: null,
    examples: { requests: {}, answers: {}, problems: {} },
  })
  const paths = document.paths as Record<string, { post: { requestBody: { required: boolean } } }>
  assert.equal(paths['/api/needed']?.post.requestBody.required, true)
  assert.equal(paths['/api/optional']?.post.requestBody.required, false)
})

const inner = named('Inner', { title: Type.String() })
const outer = named('Outer', { inner, list: Type.Array(inner) })

test('schemas with a title become components, examples with one do not', () => {
  const schemas = new NamedSchemas()
  const example = { title: 'An example' }
  const refer = { $ref: '#/components/schemas/Inner' }
  assert.deepEqual(schemas.referIn({ content: { schema: outer, example } }), {
    content: { schema: { $ref: '#/components/schemas/Outer' }, example },
  })
  assert.deepEqual(schemas.all(), {
    Inner: { type: 'object', required: ['title'], properties: { title: { type: 'string' } } },
    Outer: {
      type: 'object',
      required: ['inner', 'list'],
      properties: { inner: refer, list: { type: 'array', items: refer } },
    },
  })
})

test('two schemas of one title are refused', () => {
  const other = named('Inner', { value: Type.Integer() })
  const both = Type.Object({ inner, other })
  assert.throws(() => new NamedSchemas().referIn({ schema: both }), /two schemas "Inner"/)
})

function examples(name: string, primary: string, secondary: string): string {
  const token = { name: 'A token', decimals: 18, addresses: {} }
  const tokens = [
    { ...token, role: 'primary', symbol: primary } as const,
    { ...token, role: 'secondary', symbol: secondary } as const,
  ]
  const facts = { name, publicBaseUrl: 'https://a.b', keyPrefix: 'own', payment: null, tokens }
  return JSON.stringify(capturedExamples(facts))
}

const count = (text: string, part: string) => text.split(part).length - 1

test('names are shown as they are, whatever JSON or a replacement makes of their characters', () => {
  for (const name of ['Grave "Data" API', 'C:\\graves', "Bob & $& Co $1 $' $$"])
    for (const symbol of ['A"B', 'A\\B', '$&']) {
      const text = examples(name, symbol, 'OTHER')
      assert.ok(text.includes(JSON.stringify(`${name}: mint an API key`).slice(1, -1)), name)
      assert.ok(text.includes(JSON.stringify(symbol)), symbol)
    }
})

test('a token may have the name of another token of the captured service', () => {
  const plain = examples('Sexton', 'GRAVE', 'CRYPT')
  const swapped = examples('Sexton', 'CRYPT', 'GRAVE')
  assert.ok(count(plain, '"GRAVE"') > 0)
  assert.equal(count(swapped, '"CRYPT"'), count(plain, '"GRAVE"'))
  assert.equal(count(swapped, '"GRAVE"'), count(plain, '"CRYPT"'))
})
