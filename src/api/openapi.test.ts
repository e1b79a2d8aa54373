import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { defineRoute } from '#route/route.ts'
import { toOpenApi } from './openapi.ts'

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
