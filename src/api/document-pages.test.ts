import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { GUIDES, guidePage } from '#api/pages.ts'
import { REFUSALS, refuse } from '#base/refusal.ts'
import { PREPAYMENT_MESSAGES } from '#payments/prepayments/prepay-routes.ts'
import { answer, type Call, defineRoute, type Outcome } from '#route.ts'
import { NOON_MS } from '#test/http/api-harness.ts'
import { testCall } from '#test/test-call.ts'
import { testContext } from '#test/test-context.ts'
import { documentPages, problemPage } from './document-pages.ts'

test('while a route refuses, the document has the examples of the others and is built once a minute', async () => {
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
  nowMs += 59_999
  await read('/openapi.json')
  assert.equal(asked, 1, 'one document for both addresses')
  isReady = true
  nowMs += 1
  assert.match(await read('/openapi/v1.json'), /the late one/)
})

test('links of guides and problem pages lead to a page, or to a heading of one', async () => {
  const [guides, problems] = [guidePage('https://api.test'), problemPage()]
  const pages = new Map<string, string>()
  const at = (path: Call['path']) => testCall({ headers: { accept: 'text/html' }, path })
  const add = async (path: string, answer: ReturnType<typeof guides.read>) => {
    const outgoing = await answer
    assert.ok('body' in outgoing, path)
    pages.set(path, String(outgoing.body))
  }
  for (const name of Object.keys(GUIDES)) await add(`/docs/${name}`, guides.read(at({ name })))
  for (const code of [...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES])
    await add(`/problems/${code}`, problems.read(at({ code })))
  const links = [...pages].flatMap(([path, html]) =>
    [...html.matchAll(/<main>.*<\/main>/gs)].flatMap(([main]) =>
      [...main.matchAll(/href="([^"]+)"/g)].map(([, target = '']) => ({ path, target })),
    ),
  )
  const inside = links.filter(({ target }) => !/^[a-z]+:/.test(target))
  assert.ok(inside.some(({ target }) => target.startsWith('#')))
  for (const { path, target } of inside) {
    const { pathname, hash } = new URL(target, `https://api.test${path}`)
    const html = pages.get(pathname) ?? ''
    assert.ok(html.includes(hash === '' ? '<main>' : ` id="${hash.slice(1)}"`), path + target)
  }
})
