import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { testContext } from '#test/test-context.ts'
import { currentPayTo, paymentRequiredBody } from './offers.ts'

const OLD = `0x${'11'.repeat(20)}` as const
const NEW = '0x52908400098527886e0f7030069857d2e4169ee7' as const

const payment: Payment = {
  chain: {
    name: 'base',
    id: 8453,
    rpcUrls: [],
    explorerUrl: null,
    startBlock: 0,
    pollIntervalMs: 1_000,
    finality: 'tag',
    staleAfterSeconds: 60,
    proofs: 'deposits',
  },
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  symbol: 'USDC',
  decimals: 6,
  domain: { name: 'USD Coin', version: '2' },
  confirmations: 10,
  payTo: [
    { address: OLD, since: '2026-01-01' },
    { address: NEW, since: '2026-11-21' },
  ],
}

const local = parseEcosystem('local', localEcosystem)

const at = (date: string, more: Partial<Ecosystem> = {}) =>
  testContext({ ecosystem: { ...local, payment, ...more }, clock: () => Date.parse(date) })

const ANONYMOUS = { kind: 'anonymous', dailyQuota: 500 } as const
const KEYED = { kind: 'keyed', dailyQuota: 2_000 } as const

test('the 402 body is the object of the contract, no member added and none left out', () => {
  const body = paymentRequiredBody(at('2026-11-21T00:00:00Z'), ANONYMOUS, false)
  assert.deepEqual(body, {
    x402Version: 1,
    error: 'payment_required',
    errorMessage: 'Daily quota exhausted and no prepaid balance.',
    accepts: [
      {
        scheme: 'exact',
        network: 'base',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        assetSymbol: 'USDC',
        maxAmountRequired: '0.0001',
        payTo: '0x52908400098527886E0F7030069857D2E4169EE7',
        description: body.accepts[0].description,
        docs: local.service.pricingDocsUrl,
      },
    ],
  })
})

test('A23: the newest wallet whose day has come is shown', () => {
  assert.equal(currentPayTo(at('2026-11-20T23:59:59Z')), OLD)
  assert.equal(currentPayTo(at('2026-11-21T00:00:00Z')), NEW)
  assert.equal(currentPayTo(at('2025-01-01T00:00:00Z')), OLD)
})

const describe = (
  more: Partial<Ecosystem>,
  caller: typeof ANONYMOUS | typeof KEYED = ANONYMOUS,
  settles = false,
) => paymentRequiredBody(at('2026-11-21T13:00:00Z', more), caller, settles).accepts[0].description

test('an anonymous caller is told what ran out, who can mint a key and how to pay, in this order', () => {
  assert.equal(
    describe({}),
    'The 500 free calls of this address are used up until 2026-11-22T00:00:00Z. ' +
      'More calls need an API key with a balance: a wallet that holds 100 USD of GRAVE and CRYPT on base mints one with POST /api/keys. ' +
      'Send USDC on base from that wallet to payTo, then POST the transaction to /api/sessions/prepay; each call costs 0.0001 USD.',
  )
})

test('the topup resource is mentioned only if payments are settled', () => {
  assert.doesNotMatch(describe({}), /topup/)
  assert.match(
    describe({}, ANONYMOUS, true),
    /0\.0001 USD\. x402 clients can pay immediately, .*topup\.$/,
  )
})

test('callers with a key, or without a gate, are not told to mint one', () => {
  assert.match(describe({}, KEYED), /^The 2000 free calls of this key's wallet are used up/)
  assert.doesNotMatch(describe({}, KEYED), /mint/)
  assert.match(describe({ gate: null }), /key minting is currently disabled/)
})
