import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '#test/http/api-harness.ts'

const world = await startHarness({ anonymousQuota: 100 })
after(() => world.server.stop())

test('the header of ignored parameters stays short, whatever they are called', async () => {
  const names = Array.from({ length: 1_000 }, (_, n) => encodeURIComponent(`\u{10ffff}${n}`))
  const long = names.slice(0, 9).map((name) => name.repeat(3))
  for (const query of [names, long]) {
    const { status, headers } = await fetch(`${world.origin}/api/thing?${query.join('&')}`)
    assert.equal(status, 200)
    const shown = headers.get('x-ignored-parameters') ?? ''
    assert.ok(shown.length > 0 && shown.length <= 420, shown)
    for (const name of shown.split(', ')) assert.match(name, /^([0-9]|%[0-9A-F]{2})+$/)
  }
})

test('each caller sees its own ignored parameters, with one answer, and with a 304', async () => {
  const get = (query: string, headers = {}) =>
    fetch(`${world.origin}/api/thing?${query}`, { headers })
  const first = await get('colour=black')
  const second = await get('shape=round')
  const etag = first.headers.get('etag') ?? ''
  assert.equal(second.headers.get('etag'), etag)
  assert.equal(second.headers.get('x-ignored-parameters'), 'shape')
  const same = await get('size=1', { 'if-none-match': etag })
  assert.equal(same.status, 304)
  assert.equal(same.headers.get('x-ignored-parameters'), 'size')
  assert.equal((await get('limit=1')).headers.get('x-ignored-parameters'), null)
})

test('members of a body that are not known are ignored and named', async () => {
  const body = { text: 'a', tier: 1, constructor: 2, inner: { known: 1, 'b c': 2 } }
  const { status, headers } = await fetch(`${world.origin}/api/echo?page=2`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(status, 201)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-ignored-parameters'), 'page, tier, constructor, inner.b%20c')
})
