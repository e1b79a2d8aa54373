import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Harness, startHarness } from '#test/http/api-harness.ts'

describe('the HTTP server', () => {
  let world: Harness
  before(async () => {
    world = await startHarness()
  })
  beforeEach(() => {
    world.counts.clear()
    world.errors.length = 0
  })
  after(() => world.server.stop())

  /** Sends bytes as they are and reads until the server closes. */
  async function raw(text: string, port = world.port): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(text)
    await once(socket, 'close')
    return Buffer.concat(chunks).toString()
  }
  const line = (method: string, target: string, more = '') =>
    raw(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`)
  const statusOf = (response: string) => Number(response.slice(9, 12))
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${world.origin}/api/echo`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
  const errorOf = async (response: Response) =>
    ((await response.json()) as { readonly error: string }).error

  it('a POST that says JSON and has no body at all is answered, and so is what comes behind it', async () => {
    const json = 'Host: x\r\nContent-Type: application/json\r\n'
    const behind = 'GET /api/thing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const statuses = async (text: string) =>
      [...(await raw(text)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    assert.deepEqual(await statuses(`POST /api/echo HTTP/1.0\r\n${json}\r\n`), [400])
    assert.deepEqual(await statuses(`POST /api/echo HTTP/1.1\r\n${json}\r\n${behind}`), [400, 200])
    const expecting = `${json}Expect: 100-continue\r\nConnection: close\r\n\r\n`
    assert.deepEqual(await statuses(`POST /api/echo HTTP/1.1\r\n${expecting}`), [100, 400])
  })

  it('E9: no alias of a path is served, and none is charged', async () => {
    for (const target of [
      '//api/thing',
      '/api//thing',
      '/api/thing/',
      '/API/thing',
      '/api%2fthing',
      '/api/%74hing',
      '/api/thing;x=1',
      '/api/thing/..;/thing',
      '/api/./thing',
      '/api/x/../thing',
      '/api/thing#x',
      '/api\\thing',
      '/api/thing%00',
      '/api/thing%zz',
      '*',
      'api/thing',
    ]) {
      const response = await line('GET', target)
      assert.ok([400, 404].includes(statusOf(response)), `${target}: ${response.slice(0, 200)}`)
    }
    assert.equal(world.counts.size, 0)
  })

  it('E9: an absolute-form target is the same route and is charged', async () => {
    assert.equal(statusOf(await line('GET', 'http://elsewhere.example/api/thing')), 200)
    assert.equal(world.counts.get('127.0.0.1'), 1)
    assert.equal(statusOf(await line('GET', 'http://elsewhere.example//api/thing')), 404)
  })

  it('G7: other methods are 405 with Allow, on every known path and in every spelling', async () => {
    for (const method of ['TRACE', 'DELETE', 'PUT', 'PATCH', 'PROPFIND', 'POST', 'QUERY']) {
      const response = await line(method, '/api/thing')
      assert.equal(statusOf(response), 405, method)
      assert.match(response, /\r\nAllow: GET, HEAD, OPTIONS\r\n/i, method)
    }
    assert.equal(statusOf(await line('GET', '/api/echo')), 405)
    assert.equal(world.counts.size, 0)
  })

  it('a path that is not known is 404 with every method', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'])
      assert.equal(statusOf(await line(method, '/nowhere')), 404, method)
    const body = 'x'.repeat(20_000)
    const length = `Content-Length: ${body.length}\r\n`
    assert.equal(
      statusOf(await line('POST', '/nowhere', `${length}Content-Type: text/html\r\n`)),
      404,
    )
  })

  it('every response carries the constant headers and the figures, whatever its status', async () => {
    const responses = await Promise.all([
      line('GET', '/api/thing'),
      line('HEAD', '/api/thing'),
      line('GET', '/api/thing', 'Authorization: Basic x\r\n'),
      line('GET', '/api/thing?limit=0'),
      line('GET', '/nowhere'),
      line('DELETE', '/api/thing'),
      line('OPTIONS', '/api/thing'),
      line('POST', '/api/echo', 'Content-Length: 9000\r\nContent-Type: application/json\r\n'),
      line('POST', '/api/echo', 'Content-Length: 1\r\nContent-Type: text/plain\r\n'),
      raw('GET /api/thing HTTP/1.1\r\n\r\n'),
    ])
    const statuses = [200, 200, 401, 400, 404, 405, 204, 413, 415, 400]
    const etag = /\r\netag: (\S+)/.exec(responses[0] ?? '')?.[1] ?? ''
    responses.push(await line('GET', '/api/thing', `If-None-Match: ${etag}\r\n`))
    world.down = true
    responses.push(await line('GET', '/api/thing'))
    world.down = false
    while (statusOf(responses.at(-1) ?? '') !== 402) responses.push(await line('GET', '/api/thing'))
    const limited = await startHarness({ guard: { burst: 0, perMinute: 1 } })
    const last = 'GET /api/thing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    responses.push(await raw(last, limited.port))
    await limited.server.stop()
    assert.deepEqual(responses.map(statusOf), [...statuses, 304, 503, 200, 402, 429])
    for (const response of responses)
      for (const header of [
        /\r\nAccess-Control-Allow-Origin: \*\r\n/i,
        /\r\nAccess-Control-Expose-Headers: .*PAYMENT-REQUIRED/i,
        /\r\nX-Content-Type-Options: nosniff\r\n/i,
        /\r\nX-Request-Id: [0-9a-f-]{36}\r\n/i,
        /\r\nX-RateLimit-Limit: 3\r\n/i,
        /\r\nX-RateLimit-Remaining: \d\r\n/i,
        /\r\nX-RateLimit-Reset: 1795305600\r\n/i,
        /\r\nX-RateLimit-Tier: anonymous\r\n/i,
        /\r\nRateLimit-Policy: "daily";q=3;w=86400\r\n/i,
        /\r\nRateLimit: "daily";r=\d;t=43200\r\n/i,
        /\r\nVary: Authorization, Accept, Accept-Encoding\r\n/i,
      ])
        assert.match(response, header)
  })

  it('a preflight is answered without a charge and allows what the API needs', async () => {
    const response = await fetch(`${world.origin}/api/thing`, {
      method: 'OPTIONS',
      headers: { origin: 'https://x.example', 'access-control-request-method': 'GET' },
    })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('access-control-allow-methods'), 'GET, HEAD, OPTIONS')
    const allowed = response.headers.get('access-control-allow-headers') ?? ''
    for (const header of ['Authorization', 'If-None-Match', 'PAYMENT-SIGNATURE', 'X-PAYMENT'])
      assert.ok(allowed.includes(header))
    assert.equal(response.headers.get('access-control-allow-credentials'), null)
    assert.equal(world.counts.size, 0)
  })

  it('the request id is made here, whatever the client sends', async () => {
    const response = await fetch(`${world.origin}/api/thing`, {
      headers: { 'x-request-id': 'mine', 'request-id': 'mine' },
    })
    assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
  })

  it('G2: a body over 8 KiB is 413, announced or not', async () => {
    const text = JSON.stringify({ text: 'x'.repeat(8_192) })
    const announced = await post(text)
    assert.equal(announced.status, 413)
    assert.equal(await errorOf(announced), 'payload_too_large')
    const chunk = 'x'.repeat(9_000)
    const chunked = await raw(
      `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
    )
    assert.equal(statusOf(chunked), 413)
    assert.equal((await post(JSON.stringify({ text: 'x'.repeat(8_100) }))).status, 201)
  })

  it('G2: only plain JSON in UTF-8 is read', async () => {
    const body = '{"text":"a"}'
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json\t',
      'application/json;charset=latin1',
      'application/json, text/html',
      'application/jsonp',
    ])
      assert.equal(
        statusOf(
          await line('POST', '/api/echo', `Content-Type: ${type} ;x\r\nContent-Length: 2\r\n`),
        ),
        415,
      )
    assert.equal(
      (await post(body, { 'content-type': 'application/json; charset=UTF-8' })).status,
      201,
    )
    for (const type of ['application/json ; charset=utf-8', 'application/json;charset=utf8'])
      assert.equal((await post(body, { 'content-type': type })).status, 201, type)
    const zipped = await post(new Uint8Array(gzipSync(body)), { 'content-encoding': 'gzip' })
    assert.equal(zipped.status, 415)
  })

  it('H4: broken JSON and forbidden member names are invalid_json, deep JSON does no harm', async () => {
    for (const body of [
      '{',
      '',
      'nul',
      '{"__proto__":{"x":1}}',
      '{"constructor":{"prototype":1}}',
    ]) {
      const response = await post(body)
      assert.equal(response.status, 400, body)
    }
    assert.equal(await errorOf(await post('{')), 'invalid_json')
    const notUtf8 = new Uint8Array([...Buffer.from('{"text":"'), 0xff, ...Buffer.from('"}')])
    assert.equal(await errorOf(await post(notUtf8)), 'invalid_json')
    assert.equal(await errorOf(await post('{"text":"a","__proto__":1}')), 'invalid_json')
    assert.equal(await errorOf(await post('['.repeat(4_000) + ']'.repeat(4_000))), 'invalid_body')
    assert.equal(world.errors.length, 0)
  })

  it('a POST without a body is told which member is missing', async () => {
    const response = await fetch(`${world.origin}/api/echo`, { method: 'POST' })
    assert.equal(response.status, 400)
    assert.equal(await errorOf(response), 'invalid_body')
  })

  it('G2: a GET with a body is refused and not charged; an empty chunked one is none', async () => {
    const response = await line('GET', '/api/thing', 'Content-Length: 4\r\n')
    assert.equal(statusOf(response), 400)
    assert.equal(world.counts.size, 0)
    const chunked = 'Host: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    assert.equal(statusOf(await raw(`GET /api/thing HTTP/1.1\r\n${chunked}`)), 200)
  })

  it('G7: requests that two parsers could read differently are refused', async () => {
    const body = '0\r\n\r\nGET /api/thing HTTP/1.1\r\nHost: x\r\n\r\n'
    for (const headers of [
      `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`,
      `Content-Length: 3\r\nContent-Length: ${body.length}\r\n`,
      'Transfer-Encoding: gzip, chunked, identity\r\n',
      'Transfer-Encoding : chunked\r\n',
    ]) {
      const response = await raw(`POST /api/echo HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`)
      assert.equal(statusOf(response), 400, headers)
      assert.equal(response.match(/^HTTP\/1\.1 \d/gm)?.length, 1, headers)
    }
    assert.equal(statusOf(await raw('GET /api/thing HTTP/1.1\r\n\r\n')), 400)
    assert.equal(statusOf(await raw('GET /api/thing HTTP/1.1\nHost: x\n\n')), 400)
    assert.equal(world.counts.size, 0)
  })

  it('G7: an HTTP/1.1 request that names no host is refused with an answer, and ends there', async () => {
    const response = await raw('GET /api/thing HTTP/1.1\r\n\r\n'.repeat(2))
    assert.equal(response.match(/^HTTP\/1\.1 \d/gm)?.length, 1)
    assert.match(response, /\r\nConnection: close\r\n/i)
    assert.match(response, /"error":"invalid_parameter"/)
    assert.equal(statusOf(await raw('GET /api/thing HTTP/1.0\r\n\r\n')), 200)
  })
})
