import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VersionedText } from '#api/static-page.ts'
import { testCall } from '#test/test-call.ts'

test('a 304 names no type of a body that it does not carry', async () => {
  const versioned = new VersionedText()
  const source = { of: {}, name: 'page', text: () => 'a page' }
  const ask = (headers: Record<string, string>) =>
    versioned.answer(testCall({ headers }), source, [
      'Content-Type',
      'text/html',
      'Cache-Control',
      'private, max-age=60',
    ])
  const first = await ask({})
  assert.ok(first.headers.includes('Content-Type'))
  const again = await ask({ 'if-none-match': first.headers[1] ?? '' })
  assert.equal(again.status, 304)
  assert.deepEqual(again.headers.slice(2), ['Cache-Control', 'private, max-age=60'])
})
