import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Type } from 'typebox'
import { answer, CSV_TYPE, defineRoute, formatParameter, wantsCsv } from '#route.ts'
import { type Harness, startHarness } from '#test/http/api-harness.ts'

const facts = { tag: 'Test', summary: 'Rows', description: 'For tests', refusals: [] }

const table = defineRoute({
  ...facts,
  method: 'GET',
  path: '/api/rows/{of}',
  operationId: 'getRows',
  metered: false,
  csv: true,
  parameters: {
    format: formatParameter,
    of: {
      in: 'path',
      description: 'Whose rows',
      schema: Type.String(),
      parse: (raw) => ({ ok: true, value: raw, effective: raw ?? '' }),
    },
  },
  answers: { 200: { description: 'Rows', schema: Type.Object({}) } },
  handle: async (input) =>
    wantsCsv(input, input.parameters.format)
      ? answer(200, 'a\r\n1\r\n', { contentType: CSV_TYPE, etag: 'W/"csv"' })
      : answer(200, { data: [{ a: 1 }] }, { etag: 'W/"json"' }),
})

describe('representations', () => {
  let world: Harness
  before(async () => {
    const metered = { ...table, metered: true }
    world = await startHarness({ anonymousQuota: 100, routes: [metered] })
  })
  after(() => world.server.stop())

  const get = (path: string, accept?: string, method = 'GET') =>
    fetch(world.origin + path, { method, headers: accept === undefined ? {} : { accept } })
  const typeOf = (response: Response) => response.headers.get('content-type')

  it('CSV and JSON are told apart by format, by Accept and by their ETags', async () => {
    const json = await get('/api/rows/all')
    assert.match(typeOf(json) ?? '', /^application\/json/)
    assert.equal(json.headers.get('content-disposition'), null)
    for (const [path, accept] of [
      ['/api/rows/all?format=csv', undefined],
      ['/api/rows/all', 'TEXT/CSV;q=0.9, application/json;q=0.8'],
    ] as const) {
      const csv = await get(path, accept)
      assert.equal(typeOf(csv), CSV_TYPE)
      const named = csv.headers.get('content-disposition')
      assert.equal(named, 'attachment; filename="rows-of.csv"')
      assert.match(csv.headers.get('etag') ?? '', /^W\/"/)
      assert.notEqual(csv.headers.get('etag'), json.headers.get('etag'))
    }
    assert.match(typeOf(await get('/api/rows/all?format=json', 'text/csv')) ?? '', /json/)
    assert.match(typeOf(await get('/api/rows/all', 'text/csv;q=0, */*')) ?? '', /json/)
  })

  it('HEAD has the headers of GET', async () => {
    for (const path of ['/api/rows/all', '/api/rows/all?format=csv']) {
      const [head, whole] = [await get(path, undefined, 'HEAD'), await get(path)]
      for (const name of ['content-type', 'content-length', 'etag', 'content-disposition'])
        assert.equal(head.headers.get(name), whole.headers.get(name), name)
      assert.equal(await head.text(), '')
    }
  })

  it('format=csv where there is no CSV is 400 and free, Accept: text/csv there gives JSON', async () => {
    const plain = await startHarness()
    for (const format of ['csv', 'CSV', 'xml', '', 'json&format=csv']) {
      const refused = await fetch(`${plain.origin}/api/thing?format=${format}`)
      assert.equal(refused.status, 400, format)
      const { errors } = (await refused.json()) as { readonly errors: readonly unknown[] }
      assert.deepEqual(errors, [
        { in: 'query', name: 'format', reason: 'can be json only', allowed: ['json'] },
      ])
    }
    assert.equal(plain.counts.size, 0)
    const json = await fetch(`${plain.origin}/api/thing`, { headers: { accept: 'text/csv' } })
    assert.match(typeOf(json) ?? '', /^application\/json/)
    assert.equal((await fetch(`${plain.origin}/api/thing?format=json`)).status, 200)
    await plain.server.stop()
  })
})
