import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { staticPage } from '#api/pages.ts'
import { type Harness, startHarness } from '#test/http/api-harness.ts'

describe('a static page', () => {
  const text = 'grave '.repeat(1_000)
  let world: Harness
  before(async () => {
    const page = staticPage('/page', 'text/plain; charset=utf-8', text)
    world = await startHarness({ pages: [page] })
  })
  after(() => world.server.stop())

  it('is packed for those who can unpack it and plain for the others', async () => {
    for (const [accepted, coding] of [
      ['gzip, deflate, br', 'gzip'],
      ['gzip', 'gzip'],
      ['br;q=0, *', 'gzip'],
    ] as const) {
      const packed = await fetch(`${world.origin}/page`, {
        headers: { 'accept-encoding': accepted },
      })
      assert.equal(packed.headers.get('content-encoding'), coding)
      assert.equal(await packed.text(), text)
    }
    for (const accepted of ['identity', 'gzip;q=0', 'deflate']) {
      const plain = await fetch(`${world.origin}/page`, {
        headers: { 'accept-encoding': accepted },
      })
      assert.equal(plain.headers.get('content-encoding'), null, accepted)
      assert.equal(plain.headers.get('content-length'), String(text.length), accepted)
      await plain.text()
    }
  })

  it('tells caches by Vary that its coding was negotiated, whatever was sent', async () => {
    const etag = (await fetch(`${world.origin}/page`)).headers.get('etag') ?? ''
    for (const [method, headers, status] of [
      ['GET', { 'accept-encoding': 'gzip, br' }, 200],
      ['GET', { 'accept-encoding': 'identity' }, 200],
      ['HEAD', { 'accept-encoding': 'gzip' }, 200],
      ['GET', { 'if-none-match': etag }, 304],
    ] as const) {
      const response = await fetch(`${world.origin}/page`, { method, headers })
      assert.equal(response.status, status)
      assert.match(response.headers.get('vary') ?? '', /(^|, )Accept-Encoding(,|$)/)
      await response.arrayBuffer()
    }
  })

  it('answers 304 to its ETag without the type of a body, and HEAD without a body', async () => {
    const etag = (await fetch(`${world.origin}/page`)).headers.get('etag') ?? ''
    const again = await fetch(`${world.origin}/page`, { headers: { 'if-none-match': etag } })
    assert.equal(again.status, 304)
    assert.equal(again.headers.get('content-type'), null)
    assert.equal(again.headers.get('cache-control'), 'private, max-age=300')
    const head = await fetch(`${world.origin}/page`, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(await head.text(), '')
  })
})
