import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV1Schema, PaymentRequiredV2Schema } from '@x402/core/schemas'
import { validateDiscoveryExtension } from '@x402/extensions/bazaar'
import { testContext } from '#test/test-context.ts'
import {
  callOfferHeader,
  DISCOVERY,
  OFFER_LENGTH_MAX,
  paymentRequiredHeader,
  topupOfferBody,
} from './offer.ts'

const ctx = testContext({ clock: () => Date.UTC(2026, 10, 21) })
const input = { amounts: [100_000n, 1_000_000n], resourceUrl: 'http://localhost:4020/api/stats' }

test("the header is a PaymentRequired of x402 version 2 by the protocol's own schema", () => {
  const header = paymentRequiredHeader(ctx, input)
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
  const header = paymentRequiredHeader(ctx, { ...input, error: 'insufficient_funds' })
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
  const header = callOfferHeader(ctx, { target, error })
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
