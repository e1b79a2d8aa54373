import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KnownRequest, KnownRequests } from './known-requests.ts'

const request: KnownRequest = {
  endpoint: { method: 'GET', path: '/', respond: () => assert.fail('nobody asks') },
  headers: {},
  params: null,
  query: new Map(),
}

/** How many of so many requests of the same kind are known at the end. */
function knownOf(count: number, textOf: (index: number) => string): number {
  const known = new KnownRequests()
  for (let index = 0; index < count; index += 1) known.keep(textOf(index), request)
  let found = 0
  for (let index = 0; index < count; index += 1) if (known.find(textOf(index))) found += 1
  return found
}

test('G3: a request of many parts takes the room of many, since each takes more than its characters', () => {
  const usual = (index: number) =>
    `GET /api/thing?n=${index} HTTP/1.1\r\nHost: x\r\nA: b\r\nC: d\r\n\r\n`
  assert.equal(knownOf(10_000, usual), 10_000)
  assert.equal(knownOf(10_001, usual), 10_000)
  const names = 'a&'.repeat(650)
  assert.ok(knownOf(1_000, (index) => `GET /?${names}${index} HTTP/1.1\r\n\r\n`) < 200)
  const headers = 'a:\r\n'.repeat(250)
  assert.ok(knownOf(1_000, (index) => `GET /?${index} HTTP/1.1\r\n${headers}\r\n`) < 500)
})
