import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import {
  createClient,
  getStats,
  getUsage,
  getWalletClaims,
  listBurns,
  mintKey,
  PaymentRequiredError,
  pages,
  rows,
  SextonError,
} from '#client/index.ts'
import { mintKey as mintWith, startWorld, type World } from '../world.ts'
import { installClient } from './install-client.ts'
import { serveHttp } from './serve-http.ts'

const run = promisify(execFile)
const EXAMPLE = join(import.meta.dirname, '../../examples/burns.ts')

describe('the client on a running service', () => {
  let world: World
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sexton-client-'))
    await installClient(folder)
    world = await startWorld({
      change: (file) => ({ ...file, quotas: { ...file.quotas, anonymous: 60 } }),
    })
  })
  after(async () => {
    await world.stop()
    await rm(folder, { recursive: true })
  })

  test('an answer brings its figures, what is left and what it cost', async () => {
    const client = createClient({ baseUrl: `${world.origin}/` })
    const before = await getUsage(client)
    assert.deepEqual(before.cost, { calls: 0, paidBy: null })
    const { data, meta, quota, cost } = await getStats(client)
    assert.ok(Number(data.totalBurned) > 0)
    assert.equal(meta.chains.length, 2)
    assert.deepEqual(cost, { calls: 1, paidBy: 'quota' })
    assert.equal(quota?.remaining, before.data.remaining - 1)
    assert.equal(quota?.tier, 'anonymous')
    const csv = await client.call<string>('GET', '/api/burns', { format: 'csv' })
    assert.match(csv.data, /^date,/)
  })

  test('an unchanged answer is kept and costs nothing', async () => {
    const client = createClient({ baseUrl: world.origin })
    const first = await listBurns(client, { to: '1700000000' })
    for (;;) {
      const again = await listBurns(client, { to: '1700000000' })
      if (again.status !== 304) continue
      assert.deepEqual(again.cost, { calls: 0, paidBy: null })
      assert.deepEqual(again.data, first.data)
      return
    }
  })

  test('rows go through all pages, each row once', async () => {
    const client = createClient({ baseUrl: world.origin })
    const { data } = await listBurns(client, { limit: 100 })
    const last = data.at(-1)
    const ids: string[] = []
    for await (const { id } of rows(listBurns, client, {
      limit: 30,
      from: String(last?.timestampUnix),
    }))
      ids.push(id)
    const expected = data.map(({ id }) => id)
    assert.deepEqual(
      ids.filter((id) => expected.includes(id)),
      expected,
    )
    assert.equal(new Set(ids).size, ids.length)
  })

  test('the claims of a wallet are rows too, and its summary comes with each page', async () => {
    const client = createClient({ baseUrl: world.origin })
    const { body } = await world.api.get('/api/dividends/recent?limit=1')
    const address = body.data[0].recipient
    const all: unknown[] = []
    for await (const claim of rows(getWalletClaims, client, { address, limit: 50 })) all.push(claim)
    for await (const { data } of pages(getWalletClaims, client, { address, limit: 100 })) {
      assert.equal(data.summary.claimCount, all.length)
      break
    }
  })

  test('a refusal is an error with its code, its problem and what was wrong', async () => {
    const client = createClient({ baseUrl: world.origin })
    const error = await listBurns(client, { token: 'DOGE' }).catch((error: unknown) => error)
    assert.ok(error instanceof SextonError)
    assert.equal(error.code, 'invalid_parameter')
    assert.equal(error.status, 400)
    assert.equal(error.problem?.errors?.[0]?.name, 'token')
    assert.equal(error.message, error.problem?.detail)
    assert.equal(error.requestId, error.problem?.requestId)
    const stranger = createClient({ baseUrl: world.origin, key: 'svc_00000000_wrong' })
    await assert.rejects(getStats(stranger), { code: 'invalid_api_key', status: 401 })
  })

  test('a key is minted and used', async () => {
    const wallet = world.devnet.wallets.holder
    await assert.rejects(
      mintKey(createClient({ baseUrl: world.origin }), {
        ownerAddress: wallet.address,
        signature: '0x00',
        message: 'none',
      }),
      { code: 'invalid_signature_format' },
    )
    const { secret, publicId } = await mintWith(world.api, wallet)
    const { data } = await getUsage(createClient({ baseUrl: world.origin, key: secret }))
    assert.match(data.identity, new RegExp(`_${publicId}$`))
  })

  test('the example prints burns, and an exhausted quota as its code', async () => {
    await copyFile(EXAMPLE, join(folder, 'burns.ts'))
    const { stdout } = await run(process.execPath, ['burns.ts', world.origin], { cwd: folder })
    assert.match(stdout, /^\d{4}-\d\d-\d\dT[\d:]+Z \w+ [\d.]+ GRAVE$/m)
    assert.match(stdout, /^[\d.]+ burned in all; \d+ calls left today$/m)

    const client = createClient({ baseUrl: world.origin })
    const error = await untilRefused(() =>
      getStats(client, {}, { headers: { 'If-None-Match': '' } }),
    )
    assert.ok(error instanceof PaymentRequiredError)
    assert.equal(error.code, 'payment_required')
    assert.equal(error.offer.accepts[0]?.assetSymbol, 'USDC')
    await assert.rejects(run(process.execPath, ['burns.ts', world.origin], { cwd: folder }), {
      code: 1,
      stderr: /^payment_required: /,
    })
  })
})

async function untilRefused(call: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      await call()
    } catch (error) {
      return error
    }
  }
}

describe('what a client keeps to itself', () => {
  test('a key that no header can carry is refused without being quoted', () => {
    assert.throws(
      () => createClient({ baseUrl: 'http://127.0.0.1', key: 'svc_aaaaaaaa_secret\nNEXT=1' }),
      (error: Error) => !error.message.includes('secret'),
    )
  })

  test('a redirect is not followed: the other host sees neither signature nor payment', async () => {
    let asked = 0
    const other = await serveHttp((_, response) => {
      asked += 1
      response.end('{}')
    })
    const server = await serveHttp((_, response) => {
      response.writeHead(307, { Location: other.url }).end()
    })
    const client = createClient({
      baseUrl: server.url,
      fetch(url, init) {
        assert.equal(init?.redirect, 'manual', 'what Cloudflare Workers know')
        return fetch(url, init)
      },
    })
    const signed = { headers: { 'X-Wallet-Signature': '0x00' } }
    await assert.rejects(getUsage(client, {}, signed), /redirects, which is not followed/)
    await assert.rejects(client.call('GET', '.example.org/x'), /must begin with/)
    assert.equal(asked, 0)
    await server.close()
    await other.close()
  })

  test('a payment that is still settling is not signed anew', async () => {
    let asked = 0
    const server = await serveHttp((_, response) => {
      asked += 1
      const headers = { 'Content-Type': 'application/json', 'Retry-After': '0' }
      response.writeHead(503, headers).end('{"error":"settlement_pending","errorMessage":"wait"}')
    })
    const error = { code: 'settlement_pending' }
    await assert.rejects(getUsage(createClient({ baseUrl: server.url })), error)
    assert.equal(asked, 1)
    await server.close()
  })
})

describe('Retry-After', () => {
  const answers = async (
    list: readonly (readonly [number, string | undefined])[],
    use: (client: ReturnType<typeof createClient>, seen: () => number) => Promise<void>,
  ) => {
    let count = 0
    const server = await serveHttp((_, response) => {
      const [status, retryAfter] = list[count++] ?? [500, undefined]
      const headers = {
        'Content-Type': 'application/json',
        ...(retryAfter && { 'Retry-After': retryAfter }),
      }
      response.writeHead(status, headers).end('{"error":"rate_limited","errorMessage":"slow down"}')
    })
    try {
      await use(createClient({ baseUrl: server.url }), () => count)
    } finally {
      await server.close()
    }
  }

  test('a short wait is waited for', () =>
    answers(
      [
        [429, '0'],
        [503, '0'],
        [200, undefined],
      ],
      async (client, seen) => {
        assert.equal((await getUsage(client)).status, 200)
        assert.equal(seen(), 3)
      },
    ))

  test('a long one, one too many and one without seconds are thrown', () =>
    answers(
      [
        [429, '31'],
        [429, '0'],
        [429, '0'],
        [429, '0'],
        [503, undefined],
      ],
      async (client, seen) => {
        await assert.rejects(getUsage(client), { code: 'rate_limited', retryAfterSeconds: 31 })
        assert.equal(seen(), 1)
        await assert.rejects(getUsage(client), { retryAfterSeconds: 0 })
        assert.equal(seen(), 4)
        await assert.rejects(getUsage(client), { status: 503, retryAfterSeconds: undefined })
      },
    ))

  test('a POST that may have been done is never repeated', () =>
    answers([[503, '0']], async (client, seen) => {
      const body = { ownerAddress: '0x', signature: '0x', message: '' }
      await assert.rejects(mintKey(client, body), { status: 503 })
      assert.equal(seen(), 1)
    }))
})
