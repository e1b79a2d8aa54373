import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { anonymousCaller } from '#accounts/metering/callers.ts'
import { refuse } from '#base/refusal.ts'
import { paymentRequiredBody } from '#payments/x402/offer.ts'
import { answer } from '#route.ts'
import { GOOD_KEY, type Harness, KEYED, startHarness } from '#test/http/api-harness.ts'

const withKey = { authorization: `Bearer ${GOOD_KEY}` }
const badKey = { authorization: `Bearer svc_0123abcd_${'00'.repeat(16)}` }

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

describe('a metered call', () => {
  let world: Harness
  before(async () => {
    world = await startHarness()
  })
  beforeEach(() => {
    world.counts.clear()
    world.log.length = 0
    world.errors.length = 0
    Object.assign(world, { down: false, revision: 'r1' })
    world.outcome = async () => answer(200, { data: 'thing' })
  })
  after(() => world.server.stop())

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(world.origin + path, { method, headers })
  const rateLimit = (response: Response) =>
    ['limit', 'remaining', 'reset', 'tier'].map((each) =>
      response.headers.get(`x-ratelimit-${each}`),
    )

  it('a good call goes through every step in order and is charged once', async () => {
    const response = await get('/api/thing', { ...withKey, 'if-none-match': '"other"' })
    assert.equal(response.status, 200)
    assert.deepEqual(world.log, ['parse', 'etag', 'work'])
    assert.equal(world.counts.get(KEYED), 1)
    assert.deepEqual(await response.json(), { data: 'thing' })
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(rateLimit(response), ['5', '4', '1795305600', 'free'])
    assert.equal(response.headers.get('x-ratelimit-source'), 'quota')
    assert.equal(response.headers.get('ratelimit-policy'), '"daily";q=5;w=86400')
    assert.equal(response.headers.get('ratelimit'), '"daily";r=4;t=43200')
    assert.match(response.headers.get('cache-control') ?? '', /^private, max-age=/)
    assert.equal(response.headers.get('vary'), 'Authorization, Accept, Accept-Encoding')
  })

  it('a bad key is 401 with the figures of the address, and wrong parameters are not looked at', async () => {
    world.counts.set('127.0.0.1', 1)
    const response = await get('/api/thing?limit=x', badKey)
    assert.equal(response.status, 401)
    assert.deepEqual(world.log, [])
    assert.deepEqual(rateLimit(response), ['3', '2', '1795305600', 'anonymous'])
    assert.equal(response.headers.get('www-authenticate'), 'Bearer')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    assert.deepEqual(await response.json(), {
      type: 'https://api.example/problems/invalid_api_key',
      title: 'Invalid API key',
      status: 401,
      detail: 'the API key is malformed, unknown or revoked',
      error: 'invalid_api_key',
      errorMessage: 'the API key is malformed, unknown or revoked',
      requestId: response.headers.get('x-request-id'),
    })
  })

  it('an Authorization header that comes twice is no key, whichever of the two is good', async () => {
    const headers = new Headers(withKey)
    headers.append('authorization', `Bearer ${GOOD_KEY}`)
    const response = await fetch(`${world.origin}/api/thing`, { headers })
    assert.equal(response.status, 401)
  })

  it('wrong parameters are 400 before the guard refuses and cost nothing', async () => {
    const response = await get('/api/thing?limit=101')
    assert.equal(response.status, 400)
    assert.deepEqual((await bodyOf(response)).errors, [
      {
        in: 'query',
        name: 'limit',
        reason: 'must be an integer from 1 to 100',
        minimum: 1,
        maximum: 100,
      },
    ])
    assert.deepEqual(world.log, ['parse'])
    assert.equal(world.counts.size, 0)
  })

  it('a key in the URL is refused', async () => {
    for (const query of [`key=${GOOD_KEY}`, GOOD_KEY, `${GOOD_KEY}=1`]) {
      const { status, headers } = await get(`/api/thing?${query}&${'0'.repeat(41)}`)
      assert.equal(status, 400)
      assert.doesNotMatch([...headers].join(), /0123abcd_/)
    }
  })

  it('the abuse guard answers 429 with Retry-After, whatever else is wrong', async () => {
    const limited = await startHarness({ guard: { burst: 0, perMinute: 9 } })
    for (const [path, headers] of [
      ['/api/thing', {}],
      ['/api/thing?limit=0', {}],
      ['/api/thing', badKey],
      ['/nowhere', {}],
    ] as const) {
      const response = await fetch(limited.origin + path, { headers })
      assert.equal(response.status, 429)
      assert.equal(response.headers.get('retry-after'), '7')
      assert.equal(response.headers.get('x-ratelimit-tier'), 'anonymous')
    }
    assert.equal(limited.counts.size, 0)
    await limited.server.stop()
  })

  it('a 304 leaves before any charge and any work', async () => {
    const first = await get('/api/thing')
    const etag = first.headers.get('etag') ?? ''
    assert.match(etag, /^W\/"[\w-]{22}"$/)
    world.log.length = 0
    const second = await get('/api/thing', { 'if-none-match': `"x", ${etag}` })
    assert.equal(second.status, 304)
    assert.equal(await second.text(), '')
    assert.equal(second.headers.get('etag'), etag)
    assert.deepEqual(world.log, ['parse', 'etag'])
    assert.deepEqual(rateLimit(second)[1], '2')
    assert.equal(second.headers.get('x-ratelimit-source'), null)
    const compressed = etag.replace(/"$/, '-gzip"')
    assert.equal((await get('/api/thing', { 'if-none-match': compressed })).status, 304)
  })

  it('HEAD costs and says what GET does, without a body', async () => {
    const response = await get('/api/thing', {}, 'HEAD')
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-length'), '16')
    assert.equal(await response.text(), '')
    assert.equal(world.counts.get('127.0.0.1'), 1)
  })

  it('the 402 body is the offer byte for byte, with Remaining 0 and no Source', async () => {
    for (let call = 0; call < 3; call += 1) assert.equal((await get('/api/thing')).status, 200)
    const response = await get('/api/thing')
    assert.equal(response.status, 402)
    const caller = anonymousCaller(world.ctx, '127.0.0.1')
    const offered = paymentRequiredBody(world.ctx, caller, false)
    assert.equal(await response.text(), JSON.stringify(offered))
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(rateLimit(response), ['3', '0', '1795305600', 'anonymous'])
    assert.equal(response.headers.get('x-ratelimit-source'), null)
    assert.equal(response.headers.get('cache-control'), 'no-store')
  })

  it('a handler that throws, refuses or cannot be serialized costs nothing', async () => {
    const failing = [
      [500, () => Promise.reject(new Error('secret detail'))],
      [503, async () => refuse('data_not_ready', 'not yet')],
      [400, async () => refuse('invalid_cursor', 'garbage')],
      [500, async () => answer(200, { data: 1n })],
    ] as const
    for (const [status, outcome] of failing) {
      world.outcome = outcome
      const response = await get('/api/thing')
      assert.equal(response.status, status)
      assert.equal(response.headers.get('x-ratelimit-remaining'), '3')
      assert.equal(response.headers.get('x-ratelimit-source'), null)
      assert.doesNotMatch(await response.text(), /secret detail/)
      assert.equal(world.counts.size, 0)
    }
    assert.equal(world.errors.length, 2)
  })

  it('a meter that is down means 503 and Retry-After, never a free pass', async () => {
    world.down = true
    const response = await get('/api/thing')
    assert.equal(response.status, 503)
    assert.equal((await bodyOf(response)).error, 'metering_unavailable')
    assert.ok(Number(response.headers.get('retry-after')) > 0)
    assert.deepEqual(rateLimit(response), ['3', '0', '1795305600', 'anonymous'])
  })

  it('an unmetered route is never counted and never 402', async () => {
    world.counts.set('127.0.0.1', 3)
    const response = await fetch(`${world.origin}/api/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'hello' }),
    })
    assert.equal(response.status, 201)
    assert.deepEqual(rateLimit(response), ['3', '0', '1795305600', 'anonymous'])
    assert.equal(world.counts.get('127.0.0.1'), 3)
  })

  it('a flood that is turned away does not become reads of the store', async () => {
    const flooded = await startHarness({ guard: { burst: 0, perMinute: 1 } })
    Object.assign(flooded, { down: true, reads: 0 })
    for (let call = 0; call < 5; call += 1)
      assert.equal((await fetch(`${flooded.origin}/api/thing`)).status, 429)
    assert.equal(flooded.reads, 1)
    await flooded.server.stop()
  })
})
