import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { launchChromium } from '../chromium.ts'
import type { PageAnswer, PageCall } from './page-script.ts'
import { signPayment } from './raw-payment.ts'
import { fundWallet, mintOpened, newPayer, startX402World, type X402World } from './x402-world.ts'

/** Headers that the contract and x402 give to scripts; a browser hides all that are not exposed. */
const READABLE = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-tier',
  'x-request-id',
]

describe('a page of another origin', () => {
  let world: X402World
  let site: Server
  let browser: Browser
  let page: Page
  before(async () => {
    world = await startX402World()
    site = await startSite()
    browser = await launchChromium()
    page = await browser.newPage()
    await page.goto(`http://localhost:${portOf(site)}/`)
  })
  after(async () => {
    await browser?.close()
    site?.close()
    await world?.stop()
  })

  const call = (input: PageCall) =>
    page.evaluate(`call(${JSON.stringify(input)})`) as Promise<PageAnswer>

  async function newPrivateKey(): Promise<`0x${string}`> {
    const privateKey = generatePrivateKey()
    const to = privateKeyToAccount(privateKey).address
    await fundWallet(world.base, { to, amount: 5_000_000n })
    return privateKey
  }

  test('reads the offer of a 402, pays it with the stock client and has its answer', async () => {
    assert.equal((await call({ url: `${world.origin}/api/stats` })).status, 200)
    // Another path than the free call's, whose answer the browser may show again from its cache.
    const url = `${world.origin}/api/burns/total`
    const unpaid = await call({ url })
    assert.equal(unpaid.status, 402)
    const offer = decodePaymentRequiredHeader(unpaid.headers['payment-required'] ?? '')
    assert.equal(offer.accepts.length, 2)
    const paid = await call({ url, privateKey: await newPrivateKey() })
    assert.equal(paid.status, 200, paid.text)
    const receipt = decodePaymentResponseHeader(paid.headers['payment-response'] ?? '')
    assert.equal(receipt.success, true)
    assert.equal(paid.headers['x-ratelimit-source'], 'prepaid')
    for (const answer of [unpaid, paid])
      for (const name of READABLE) assert.ok(name in answer.headers, name)
    const usage = await call({ url: `${world.origin}/api/usage` })
    assert.equal(JSON.parse(usage.text).prepaidBalanceUsd, 0.0999)
  })

  test('pays with its key', async () => {
    const { authorization: headers } = await mintOpened(world, world.devnet.wallets.holder)
    const free = await call({ url: `${world.origin}/api/dividends/total`, headers })
    assert.equal(free.status, 200)
    const url = `${world.origin}/api/grave-digs`
    const paid = await call({ url, headers, privateKey: await newPrivateKey() })
    assert.equal(paid.status, 200, paid.text)
    const usage = await call({ url: `${world.origin}/api/usage`, headers })
    assert.equal(JSON.parse(usage.text).prepaidBalanceUsd, 0.0999)
  })

  test('may send every header of x402, and reads why a payment was refused', async () => {
    const url = `${world.origin}/api/sessions/topup`
    const { header } = await signPayment(await newPayer(world.base, 0n))
    const current = await call({ url, headers: { 'PAYMENT-SIGNATURE': header } })
    assert.equal(current.status, 402)
    const reason = decodePaymentResponseHeader(current.headers['payment-response'] ?? '')
    assert.equal(reason.errorReason, 'insufficient_funds')
    const older = await call({ url, headers: { 'X-PAYMENT': 'e30=' } })
    assert.equal(older.status, 402)
  })
})

/** A site that is not the API: one page with the stock client in its script. */
async function startSite(): Promise<Server> {
  const bundled = await build({
    entryPoints: [join(import.meta.dirname, 'page-script.ts')],
    bundle: true,
    format: 'iife',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  })
  const script = bundled.outputFiles[0]?.text ?? ''
  const server = createServer((request, response) => {
    if (request.url === '/script.js')
      return response.setHeader('Content-Type', 'text/javascript').end(script)
    response.setHeader('Content-Type', 'text/html')
    return response.end('<!doctype html><title>Site</title><script src="/script.js"></script>')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
