import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { refuse } from '#domain/refusal.ts'
import { answer, defineRoute, type Outcome } from '#route/route.ts'
import { NOON_MS } from '#test/http/api-harness.ts'
import { testCall } from '#test/test-call.ts'
import { testContext } from '#test/test-context.ts'
import { documentPages } from './document-pages.ts'

test('while a route refuses, the document has the examples of the others and is built once in ten seconds', async () => {
  let nowMs = NOON_MS
  let isReady = false
  let asked = 0
  const route = (operationId: string, handle: () => Outcome) =>
    defineRoute({
      ...{ method: 'GET', path: `/${operationId}`, operationId, tag: 'T', summary: '' },
      ...{ description: '', metered: true, parameters: {}, refusals: [], handle },
      answers: { 200: { description: '', schema: Type.Object({}) } },
    })
  const routes = [
    route('getUnready', () =>
      isReady ? answer(200, { of: 'the late one' }) : refuse('data_not_ready', 'not yet'),
    ),
    route('getReady', () => {
      asked += 1
      return answer(200, { of: 'the ready one' })
    }),
  ]
  const pages = documentPages(testContext({ clock: () => nowMs }), routes)
  const read = async (path: string) => {
    const page = pages.find((each) => each.path === path)
    const answered = await page?.read(testCall())
    assert.ok(answered !== undefined && 'body' in answered)
    return String(answered.body)
  }
  const texts = await Promise.all(['/openapi.json', '/openapi/v1.json'].map(read))
  assert.equal(texts[0], texts[1])
  assert.match(texts[0] ?? '', /the ready one/)
  nowMs += 9_999
  await read('/openapi.json')
  assert.equal(asked, 1, 'one document for both addresses')
  isReady = true
  nowMs += 1
  assert.match(await read('/openapi/v1.json'), /the late one/)
  nowMs += 3_600_000
  await read('/openapi.json')
  assert.equal(asked, 2, 'a finished document is kept')
})
