import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemPage } from '#api/document-pages.ts'
import { REFUSALS } from '#domain/refusal.ts'
import { PREPAYMENT_MESSAGES } from '#money/payments/prepayment-record.ts'
import type { Call } from '#route/route.ts'
import { testCall } from '#test/test-call.ts'
import { GUIDES, guidePage } from './guide-pages.ts'

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
