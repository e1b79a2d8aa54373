import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxExtensionInfo,
} from '@x402/extensions/sign-in-with-x'
import { burn, mintUsdc, setAutomine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { units } from '#devnet/units.ts'
import { developmentWallets } from '#devnet/wallets.ts'
import { freePort } from '#lib/free-port.ts'
import { DAY_SECONDS, toIso, unixNow } from '#lib/time.ts'
import type { Role } from '#operations/grants/rights.ts'
import { type AccountsWorld, startAccountsWorld } from './accounts/world/accounts-world.ts'
import { makeOwner, mintSoon, type OwnedKey, type Owner } from './accounts/world/owner.ts'
import type { RoleHere } from './accounts/world/role-here.ts'
import { type ApiClient, createApiClient } from './api-client.ts'
import { makeDatabaseRole } from './database-role.ts'
import { startPostgres } from './postgres.ts'
import { startReceiver } from './webhooks/receiver.ts'
import { PEM } from './webhooks/webhook-world.ts'
import { eventually } from './world.ts'
import { signPayment } from './x402/raw-payment.ts'
import { newPayer } from './x402/x402-world.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

/** Longer than a payment, a webhook or a role's start takes on a busy machine. */
const DONE_MS = 60_000

const DATA_PATHS = [
  '/api/stats',
  '/api/stats/history?metric=supply&period=30d&token=GRAVE',
  '/api/burns?period=30d',
  '/api/burns/total',
  '/api/burns/recent?limit=5',
  '/api/dividends/total',
  `/api/dividends/${accounts.holder}`,
  '/api/dividends/recent',
  '/api/grave-digs',
  '/api/grave-digs/leaderboard',
  '/api/holders',
  `/api/holders/${accounts.holder}`,
]

describe('an installation of which every role has its printed grants alone', () => {
  let world: AccountsWorld
  let databaseUrl: string
  let api: ApiClient
  let owner: Owner
  let key: OwnedKey
  const roles = new Map<Role, RoleHere>()
  const probes = new Map<Role, string>()
  const bearer = () => ({ Authorization: `Bearer ${key.secret}` })

  before(async () => {
    databaseUrl = await postgres.createDatabase()
    world = await startAccountsWorld({
      databaseUrl,
      quotas: { anonymous: 1, free: 20, premium: 20 },
    })
    const { code, stderr } = await world.run(['migrate'])
    assert.equal(code, 0, stderr)
    const keyFile = join(world.folder, 'settling-key')
    writeFileSync(keyFile, developmentWallets().relayer.privateKey, { mode: 0o600 })
    const signingKeys = join(world.folder, 'signing.pem')
    writeFileSync(signingKeys, PEM, { mode: 0o600 })
    for (const role of ['index', 'verify', 'serve'] as const) {
      const { url } = await makeDatabaseRole(databaseUrl, [role])
      const metricsPort = String(await freePort(0))
      const variable =
        role === 'serve' ? 'SEXTON_METRICS_PORT' : `SEXTON_${role.toUpperCase()}_METRICS_PORT`
      const started = await world.startHere(role, {
        environment: {
          SEXTON_DATABASE_URL: url,
          SEXTON_SETTLING_KEY_FILE: keyFile,
          SEXTON_SIGNING_KEYS: signingKeys,
          SEXTON_WEBHOOK_PRIVATE: 'yes',
          [variable]: metricsPort,
        },
      })
      roles.set(role, started)
      probes.set(role, `http://127.0.0.1:${metricsPort}/readyz`)
    }
    const serving = roles.get('serve')
    await serving?.ready()
    api = await createApiClient(serving?.url ?? '')
    const { client } = world.devnet.chains.base
    owner = await makeOwner(client)
    await world.mine(3)
    key = await mintSoon(owner, serving?.url ?? '')
  })
  after(() => world.stop())

  test('a key is limited, named, rotated and revoked', async () => {
    const { url = '' } = roles.get('serve') ?? {}
    const other = await mintSoon(owner, url)
    const headers = { Authorization: `Bearer ${other.secret}` }
    const limits = await api.post(
      `/api/keys/${other.publicId}/limits`,
      { dailyPaidCalls: 9 },
      headers,
    )
    assert.equal(limits.status, 200, limits.text)
    const named = await api.post(`/api/keys/${other.publicId}/label`, { label: 'x' }, headers)
    assert.equal(named.status, 200, named.text)
    const rotated = await owner.rotate(url, other)
    await owner.revoke(url, rotated)
  })

  test('every data endpoint answers, and so do usage and its statement', async () => {
    for (const path of DATA_PATHS) {
      const { status, text } = await api.get(path, bearer())
      assert.equal(status, 200, `${path}: ${text}`)
    }
    const usage = await api.get('/api/usage', bearer())
    assert.equal(usage.body.requestCount, DATA_PATHS.length)
    const [from, to] = [-2, -1].map((days) =>
      toIso(unixNow(Date.now) + days * DAY_SECONDS).slice(0, 10),
    )
    const statement = await api.get(`/api/usage/statement?from=${from}&to=${to}`, bearer())
    assert.equal(statement.status, 200, statement.text)
  })

  test('the stream begins', async () => {
    const stop = new AbortController()
    const answer = await fetch(`${roles.get('serve')?.url}/api/stream`, {
      headers: bearer(),
      signal: stop.signal,
    })
    assert.equal(answer.status, 200)
    const { done } = (await answer.body?.getReader().read()) ?? { done: true }
    assert.equal(done, false)
    stop.abort()
  })

  test('a webhook gets its challenge and an event of a new block', async () => {
    const receiver = await startReceiver()
    try {
      const url = receiver.url.replace('receiver.example', '127.0.0.1')
      const made = await api.post('/api/webhooks', { url }, bearer())
      assert.equal(made.status, 202, made.text)
      const { id } = made.body.webhook
      await eventually(async () => {
        const shown = await api.get(`/api/webhooks/${id}`, bearer())
        return shown.body.webhook.state === 'active' ? true : undefined
      }, DONE_MS)
      const { client } = world.devnet.chains.base
      await burn(client, { token: 'grave', from: accounts.holder, amount: units(1) })
      await world.mine(1)
      await eventually(async () => (receiver.events.length > 0 ? true : undefined), DONE_MS)
      const gone = await api.post(`/api/webhooks/${id}/delete`, {}, bearer())
      assert.equal(gone.status, 200, gone.text)
    } finally {
      await receiver.stop()
    }
  })

  test('a prepayment is claimed and verified', async () => {
    const { client } = world.devnet.chains.base
    await mintUsdc(client, { to: owner.account.address, amount: 5_000_000n })
    await world.mine(1)
    const txHash = await owner.pay(client, 1_000_000n)
    const { url = '' } = roles.get('serve') ?? {}
    const id = await owner.claim(url, { key, txHash, microUsd: 1_000_000n })
    await world.mine(5)
    await eventually(async () => {
      const { body } = await api.get(`/api/sessions/prepay/${id}`)
      return body.verified ? true : undefined
    }, DONE_MS)
  })

  test('an x402 payment is settled, and its wallet signs in from another address', async () => {
    const { client } = world.devnet.chains.base
    await setAutomine(client, true)
    const payer = await newPayer(client, 5_000_000n)
    const home = { 'X-Forwarded-For': '198.51.100.1' }
    const away = { 'X-Forwarded-For': '198.51.100.2' }
    for (const from of [home, away]) await api.get('/api/stats', from)
    const { header } = await signPayment(payer)
    const paid = await api.get('/api/stats', { ...home, 'PAYMENT-SIGNATURE': header })
    assert.equal(paid.status, 200, paid.text)
    const refused = await api.get('/api/stats', away)
    assert.equal(refused.status, 402)
    const offer = decodePaymentRequiredHeader(refused.headers.get('payment-required') ?? '')
    const offered = offer.extensions?.['sign-in-with-x']
    assert.ok(typeof offered === 'object' && offered !== null && 'info' in offered)
    const info = offered.info as SIWxExtensionInfo
    const signed = { ...info, chainId: 'eip155:8453', type: 'eip191' } as const
    const payload = await createSIWxPayload(signed, payer, world.file.service.publicBaseUrl)
    const signIn = { 'SIGN-IN-WITH-X': encodeSIWxHeader(payload) }
    const served = await api.get('/api/stats', { ...away, ...signIn })
    assert.equal(served.status, 200, served.text)
    assert.equal(served.headers.get('x-ratelimit-source'), 'prepaid')
    await setAutomine(client, false)
  })

  test('every role is ready, and none was denied anything', async () => {
    for (const probe of probes.values())
      await eventually(async () => ((await fetch(probe)).ok ? true : undefined), DONE_MS)
    for (const [role, { words }] of roles) assert.doesNotMatch(words(), /denied|lacks/, role)
  })

  test('the audit and a backup need to read only', async () => {
    const { url } = await makeDatabaseRole(databaseUrl, ['audit'])
    const environment = { SEXTON_DATABASE_URL: url }
    for (const flags of [['audit'], ['copy', '--to', join(world.folder, 'backup.sqlite')]]) {
      const { code, stdout, stderr } = await world.run(flags, { environment })
      assert.equal(code, 0, stdout + stderr)
    }
  })
})
