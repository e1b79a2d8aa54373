import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { pino } from 'pino'
import { createMetrics } from '#api/metrics.ts'
import { readConfig } from '#config.ts'
import { type ApiClient, createApiClient } from '#test/api-client.ts'
import { assertLintFree } from '#test/assert-lint-free.ts'
import { harnessParts } from '#test/http/api-harness.ts'
import { type Served, serve } from './serve.ts'

describe('the API', () => {
  let parts: Awaited<ReturnType<typeof harnessParts>>
  let served: Served
  let client: ApiClient
  let ready = true
  const lines: string[] = []

  before(async () => {
    parts = await harnessParts()
    const ctx = {
      ...parts.ctx,
      config: {
        ...readConfig({ SEXTON_DRAIN_SECONDS: '1' }, { isTty: false }),
        host: '127.0.0.1',
        port: 0,
        metrics: { host: '127.0.0.1', port: 0 },
        log: { level: 'debug', format: 'json' } as const,
      },
      logger: pino({ level: 'debug' }, { write: (line) => void lines.push(line) }),
    }
    served = await serve(ctx, {
      routes: parts.routes,
      metrics: createMetrics(ctx, [
        { name: 'sexton_test', help: 'A test', read: async () => ({ base: 7 }) },
      ]),
      readiness: async () => ({ ready, parts: { accounts: ready ? 'ready' : 'down' } }),
      operatorReadiness: async () => ({ ready, parts: { 'node rpc.example of base': 'ok' } }),
    })
    client = await createApiClient(served.url)
  })
  it('logs a line per answer at the level debug, which holds no value of a caller', async () => {
    lines.length = 0
    await client.get('/api/thing?key=svc_0123abcd_secret', { 'User-Agent': 'secret' })
    const { route, status, client: address, method } = JSON.parse(lines.at(-1) ?? '{}')
    assert.deepEqual([route, status, address, method], ['/api/thing', 200, '127.0.0.1', 'GET'])
    assert.ok(!lines.join('').includes('secret'))
  })

  it('every answer is what the OpenAPI document says, errors and 402 included', async () => {
    parts.state.counts.clear()
    assert.equal((await client.get('/api/thing')).status, 200)
    assert.equal((await client.call('/api/thing', { method: 'HEAD' })).status, 200)
    assert.equal((await client.get('/api/thing/name')).status, 200)
    assert.equal((await client.get('/api/thing')).status, 402)
    assert.equal((await client.get('/api/thing?limit=0')).status, 400)
    assert.equal((await client.get('/api/thing', { authorization: 'x' })).status, 401)
    assert.equal((await client.post('/api/echo', { text: 'a' })).status, 201)
    assert.equal((await client.post('/api/echo', { text: 1 })).status, 400)
    assert.equal((await client.call('/api/echo', { method: 'POST', body: 'x' })).status, 415)
    assert.equal((await client.post('/api/echo', { text: 'a'.repeat(9000) })).status, 413)
    assert.equal((await client.call('/api/echo')).status, 405)
    assert.equal((await client.call('/api/echo', { method: 'OPTIONS' })).status, 204)
    assert.equal((await client.get('/nowhere')).status, 404)
    parts.state.down = true
    assert.equal((await client.get('/api/thing')).status, 503)
    parts.state.down = false
  })

  it('the client fails on an answer that the document does not allow', async () => {
    parts.state.counts.clear()
    const good = parts.state.outcome
    parts.state.outcome = async () => ({
      kind: 'answer',
      status: 200,
      body: { data: 'thing', undocumented: true },
    })
    await assert.rejects(client.get('/api/thing'), /additional properties/)
    parts.state.outcome = good
  })

  it('documents, meta and health are served while the store is down, and are never charged', async () => {
    parts.state.counts.clear()
    parts.state.down = true
    for (const path of ['/api/meta', '/healthz', '/readyz'])
      assert.equal((await client.get(path)).status, 200, path)
    for (const [path, type] of [
      ['/openapi.json', 'application/json'],
      ['/openapi/v1.json', 'application/json'],
      ['/llms.txt', 'text/plain'],
      ['/scalar/v1', 'text/html'],
      ['/scalar/v1/scalar.js', 'text/javascript'],
      ['/problems/rate_limited', 'text/markdown'],
      ['/docs/first-chart', 'text/markdown'],
      ['/status', 'application/json'],
    ] as const) {
      const response = await fetch(served.url + path)
      assert.equal(response.status, 200, path)
      assert.ok(response.headers.get('content-type')?.startsWith(type), path)
      assert.equal(response.headers.get('x-ratelimit-limit'), '3', path)
      assert.equal(response.headers.get('access-control-allow-origin'), '*', path)
      const etag = response.headers.get('etag')
      if (etag !== null) {
        const again = await fetch(served.url + path, { headers: { 'if-none-match': etag } })
        assert.equal(again.status, 304, path)
      }
      await response.arrayBuffer()
    }
    assert.equal((await fetch(`${served.url}/problems/nothing`)).status, 404)
    assert.equal(parts.state.counts.size, 0)
    parts.state.down = false
  })

  it('a browser gets errors as a page that repeats no markup of the request, a program JSON', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const target = `${served.url}/api/thing?limit=<script>`
    const page = await fetch(target, { headers: { accept } })
    assert.equal(page.status, 400)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const text = await page.text()
    assert.match(text, /problems\/invalid_parameter/)
    assert.doesNotMatch(text, /<script/)
    // The second is what Java sends unless told otherwise.
    for (const other of [
      '*/*',
      'text/html, image/gif, */*; q=0.2',
      'application/json, text/html',
    ]) {
      const json = await fetch(target, { headers: { accept: other } })
      assert.match(json.headers.get('content-type') ?? '', /problem\+json/, other)
      await json.arrayBuffer()
    }
  })

  it('readiness answers 503 and names the part that is missing', async () => {
    ready = false
    const answer = await client.get('/readyz')
    assert.equal(answer.status, 503)
    assert.deepEqual(answer.body.parts, { accounts: 'down' })
    ready = true
  })

  it('hosts of RPC endpoints are shown on the metrics port only', async () => {
    const whole = await fetch(`http://127.0.0.1:${served.metricsPort}/readyz`)
    assert.equal(whole.status, 200)
    assert.match(await whole.text(), /rpc\.example/)
    assert.doesNotMatch(await (await fetch(`${served.url}/readyz`)).text(), /rpc\.example/)
  })

  it('the metrics count requests, admissions and gauges on a port of their own', async () => {
    const text = await (await fetch(`http://127.0.0.1:${served.metricsPort}/metrics`)).text()
    for (const line of [
      /^sexton_requests_total\{route="\/api\/thing",status="2xx"\} \d+$/m,
      /^sexton_admissions_total\{source="quota"\} \d+$/m,
      /^sexton_request_duration_seconds_bucket\{le="0.001",route="\/api\/thing"\} \d+$/m,
      /^sexton_event_loop_delay_seconds\{of="p99"\} [\d.e-]+$/m,
      /^sexton_test\{of="base"\} 7$/m,
    ])
      assert.match(text, line)
    assert.equal((await fetch(`${served.url}/metrics`)).status, 404)
  })

  it('the OpenAPI document has no lint errors and no lint warnings', async () => {
    await assertLintFree(client.document)
  })

  it('every enum and constant of the document says its type, as some generators need', () => {
    const untyped = (value: unknown): string[] => {
      if (typeof value !== 'object' || value === null) return []
      const isUntyped = ('enum' in value || 'const' in value) && !('type' in value)
      const inside = Object.values(value).flatMap(untyped)
      return isUntyped ? [JSON.stringify(value), ...inside] : inside
    }
    assert.deepEqual(untyped(client.document), [])
  })

  it('a process that drains is alive but not ready, and ends each connection after an answer', async () => {
    const ended = served.stop()
    const readiness = await client.get('/readyz')
    assert.equal(readiness.status, 503)
    assert.equal(readiness.body.parts.process, 'stopping')
    for (const path of ['/healthz', '/api/meta']) {
      const answer = await fetch(served.url + path)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('connection'), 'close')
    }
    const probe = (path: string) => fetch(`http://127.0.0.1:${served.metricsPort}${path}`)
    assert.equal((await probe('/livez')).status, 200)
    assert.equal((await probe('/readyz')).status, 503)
    await ended
    await assert.rejects(fetch(served.url))
    await parts.close()
  })
})
