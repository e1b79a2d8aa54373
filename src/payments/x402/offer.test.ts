import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV1Schema, PaymentRequiredV2Schema } from '@x402/core/schemas'
import { validateDiscoveryExtension } from '@x402/extensions/bazaar'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { testContext } from '#test/test-context.ts'
import { PAYMENT } from '#test/x402/settling-harness.ts'
import {
  callOfferHeader,
  currentPayTo,
  DISCOVERY,
  OFFER_LENGTH_MAX,
  paymentRequired,
  paymentRequiredBody,
  toBase64,
  topupOfferBody,
} from './offer.ts'

const ctx = testContext({ clock: () => Date.UTC(2026, 10, 21) })
const input = { amounts: [100_000n, 1_000_000n], resourceUrl: 'http://localhost:4020/api/stats' }

test("the header is a PaymentRequired of x402 version 2 by the protocol's own schema", () => {
  const header = toBase64(paymentRequired(ctx, input))
  const decoded = decodePaymentRequiredHeader(header)
  const checked = PaymentRequiredV2Schema.safeParse(decoded)
  assert.ok(checked.success, JSON.stringify(checked))
  assert.deepEqual(decoded.accepts, [
    {
      scheme: 'exact',
      network: 'eip155:8453',
      amount: '100000',
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
      maxTimeoutSeconds: 300,
      extra: {
        name: 'USD Coin',
        version: '2',
        paymentFlow: 'upfront',
        primaryType: 'TransferWithAuthorization',
      },
    },
    { ...decoded.accepts[0], amount: '1000000' },
  ])
})

test('the header is printable ASCII without a line break and says what the smallest offer buys, with a reason if there is one', () => {
  const header = toBase64(paymentRequired(ctx, { ...input, error: 'insufficient_funds' }))
  assert.match(header, /^[A-Za-z0-9+/]+={0,2}$/)
  const { resource, error } = decodePaymentRequiredHeader(header)
  assert.equal(error, 'insufficient_funds: the payer holds less than the amount')
  assert.match(resource.description ?? '', /^0\.1 USD buys 1000 calls at 0\.0001 USD/)
})

test("the top-up body is a PaymentRequired of x402 version 1 by the protocol's own schema", () => {
  const checked = PaymentRequiredV1Schema.safeParse(topupOfferBody(ctx, input))
  assert.ok(checked.success, JSON.stringify(checked))
})

const BASE = ctx.ecosystem.service.publicBaseUrl

function urlOffered(target: string) {
  const error = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const header = callOfferHeader(ctx, target, error)
  assert.ok(header.length <= OFFER_LENGTH_MAX, String(header.length))
  return decodePaymentRequiredHeader(header).resource?.url
}

test('an offer names the whole URL of the call, with its query', () => {
  const target = '/api/stats/history?metric=supply&period=365d'
  assert.equal(urlOffered(target), BASE + target)
})

test('the offer to a call with a long query leaves the query out', () => {
  const path = `/api/dividends/0x${'ab'.repeat(20)}`
  const url = `${BASE}${path}`
  for (const length of [3_000, 15_000])
    assert.equal(urlOffered(`${path}?x=${'a'.repeat(length)}`), url)
})

test("the top-up's description for directories is valid by the extension's own library", () => {
  assert.deepEqual(validateDiscoveryExtension(DISCOVERY.bazaar as never), { valid: true })
  const { info, schema } = DISCOVERY.bazaar
  const wrong = { info: { ...info, input: { ...info.input, method: 'BREW' } }, schema }
  assert.equal(validateDiscoveryExtension(wrong as never).valid, false)
})

const OLD = `0x${'11'.repeat(20)}` as const
const NEW = '0x52908400098527886e0f7030069857d2e4169ee7' as const

const payment = {
  ...PAYMENT,
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
