import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import {
  GOOD_KEY,
  type Harness,
  harnessParts,
  NOON_MS,
  startHarness,
} from '#test/http/pipeline-harness.ts'
import { createAccessLog } from './access-log.ts'

const lines: string[] = []
const last = () => JSON.parse(lines.at(-1) ?? 'null')

describe('the access log', () => {
  let harness: Harness
  before(async () => {
    const { routes, deps } = harnessParts()
    const clock = () => NOON_MS
    harness = await startHarness({
      ...createAccessLog({ ...deps, routes, clock, write: (line) => lines.push(line) }),
    })
  })
  after(() => harness.server.stop())
  beforeEach(() => {
    lines.length = 0
    harness.counts.clear()
  })

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(harness.origin + path, { headers })
    return {
      status: answer.status,
      body: await answer.text(),
      id: answer.headers.get('x-request-id'),
    }
  }

  test('has one line per answer: who called, what was asked and what came of it', async () => {
    const headers = { authorization: `Bearer ${GOOD_KEY}`, 'user-agent': 'curl/8.5.0' }
    const { id, body } = await get('/api/thing?limit=2', headers)
    assert.equal(lines.length, 1)
    const { durationMs, ...line } = last()
    assert.ok(durationMs >= 0)
    assert.deepEqual(line, {
      time: '2026-11-21T12:00:00.000Z',
      requestId: id,
      method: 'GET',
      route: '/api/thing',
      target: '/api/thing?limit=2',
      status: 200,
      bytes: Buffer.byteLength(body),
      client: '127.0.0.1',
      identity: 'key:svc_0123abcd',
      tier: 'free',
      source: 'quota',
      userAgent: 'curl/8.5.0',
    })
  })

  test('tells refusals, unknown paths and malformed requests from answers', async () => {
    await get('/api/thing', { authorization: 'Bearer wrong' })
    assert.deepEqual([last().status, last().identity, last().source], [401, 'ip:127.0.0.1', null])
    await get('/nowhere')
    assert.deepEqual([last().status, last().route, last().target], [404, null, '/nowhere'])
    const socket = connect(harness.port, '127.0.0.1')
    socket.end('GET / nonsense\r\n\r\n').resume()
    await once(socket, 'close')
    assert.deepEqual([last().status, last().method, last().client], [400, '', '127.0.0.1'])
    assert.equal(lines.length, 3)
  })

  test('a call that failed and was refunded has no source', async () => {
    const good = harness.outcome
    harness.outcome = () => Promise.reject(new Error('broken'))
    await get('/api/thing')
    harness.outcome = good
    assert.deepEqual([last().status, last().source], [500, null])
  })

  test('no secret enters it, wherever a caller puts one', async () => {
    const hex = (size: number) =>
      fc
        .uint8Array({ minLength: size, maxLength: size })
        .map((bytes) => Buffer.from(bytes).toString('hex'))
    const secret = fc.oneof(
      hex(16).map((half) => ({ sent: `svc_0123abcd_${half}`, hidden: half })),
      hex(16).map((half) => ({ sent: `SVC_0123ABCD_${half.toUpperCase()}`, hidden: half })),
      hex(16).map((half) => ({ sent: `svc%5F0123abcd%5F${half}`, hidden: half })),
      hex(32).map((key) => ({ sent: `0x${key}`, hidden: key })),
      hex(65).map((signature) => ({ sent: `0x${signature}`, hidden: signature })),
      hex(40).map((text) => {
        const sent = Buffer.from(text, 'hex').toString('base64url')
        return { sent, hidden: sent.toLowerCase() }
      }),
    )
    const place = fc.constantFrom<(text: string) => [string, Record<string, string>]>(
      (text) => ['/api/thing', { authorization: `Bearer ${text}` }],
      (text) => ['/api/thing', { 'x-payment': text, cookie: text, referer: `https://x/${text}` }],
      (text) => ['/api/thing', { 'user-agent': `me ${text}` }],
      (text) => ['/api/thing', { 'user-agent': `${'a '.repeat(90)}${text}` }],
      (text) => [`/api/thing?key=${text}`, {}],
      (text) => [`/api/thing?limit=${text}`, {}],
      (text) => [`/api/thing?limit=1&${text}=1`, {}],
      (text) => [`/api/thing?${text}`, {}],
      (text) => [`/api/thing/${text}`, {}],
      (text) => [`/nowhere/${text}?a?b=${text}`, {}],
    )
    await fc.assert(
      fc.asyncProperty(secret, place, async ({ sent, hidden }, put) => {
        const count = lines.length
        await get(...put(sent))
        assert.equal(lines.length, count + 1)
        assert.ok(!String(lines.at(-1)).toLowerCase().includes(hidden))
      }),
      { numRuns: 200 },
    )
  })

  test('a short word under a name that is not ours is hidden, and a body never shows', async () => {
    await get('/api/thing?password=hunter2')
    assert.equal(last().target, '/api/thing?password=[redacted]')
    const body = JSON.stringify({ text: 'hunter2' })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${harness.origin}/api/echo`, { method: 'POST', body, headers })
    assert.equal(last().status, 201)
    assert.ok(!lines.join('').includes('hunter2'))
  })
})
