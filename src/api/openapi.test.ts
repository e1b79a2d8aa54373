import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { capturedExamples } from '#api/examples.ts'
import { named } from '#base/schema.ts'
import { defineRoute } from '#route.ts'
import { testContext } from '#test/test-context.ts'
import { NamedSchemas, toOpenApi } from './openapi.ts'

const post = (operationId: string, body: TSchema) =>
  defineRoute({
    ...{ method: 'POST', path: `/api/${operationId}`, operationId, tag: 'Test', metered: false },
    ...{ summary: 'Posts', description: 'For tests', parameters: {}, answers: {}, refusals: [] },
    body,
    handle: async () => ({ kind: 'answer', status: 200, body: {} }),
  })

test('a body is required only where an empty one is refused', () => {
  const document = toOpenApi(testContext(), [
    post('needed', Type.Object({ text: Type.String() })),
    post('optional', Type.Object({ text: Type.Optional(Type.String()) })),
  ])
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

test('names are shown as they are, whatever JSON or a replacement makes of their characters', () => {
  const facts = { publicBaseUrl: 'https://a.b', keyPrefix: 'own', payment: null }
  for (const name of ['Grave "Data" API', 'C:\\graves', "Bob & $& Co $1 $' $$"]) {
    const text = JSON.stringify(capturedExamples({ ...facts, name }))
    assert.ok(text.includes(JSON.stringify(`${name}: mint an API key`).slice(1, -1)), name)
  }
})
