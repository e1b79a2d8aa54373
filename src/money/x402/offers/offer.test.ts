import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV1Schema, PaymentRequiredV2Schema } from '@x402/core/schemas'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { paymentRequiredHeader, topupOfferBody } from './offer.ts'

const ecosystem = parseEcosystem('local.ts', localEcosystem)
assert.ok(ecosystem.payment !== null)
const deps = {
  payment: ecosystem.payment,
  pricePerCall: ecosystem.pricePerCall,
  clock: () => Date.UTC(2026, 10, 21),
}
const input = { amounts: [100_000n, 1_000_000n], resourceUrl: 'http://localhost:4020/api/stats' }

test("the header is a PaymentRequired of x402 version 2 by the protocol's own schema", () => {
  const header = paymentRequiredHeader(deps, input)
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

test('the header is printable ASCII without a line break and says what the smallest offer buys', () => {
  const header = paymentRequiredHeader(deps, input)
  assert.match(header, /^[A-Za-z0-9+/]+={0,2}$/)
  const { resource } = decodePaymentRequiredHeader(header)
  assert.match(resource.description ?? '', /^0\.1 USD buys 1000 calls at 0\.0001 USD/)
})

test('a reason stands in the header and leaves the offers as they are', () => {
  const header = paymentRequiredHeader(deps, { ...input, error: 'insufficient_funds' })
  const decoded = decodePaymentRequiredHeader(header)
  assert.equal(decoded.error, 'insufficient_funds')
  assert.equal(decoded.accepts.length, 2)
})

test("the top-up body is a PaymentRequired of x402 version 1 by the protocol's own schema", () => {
  const checked = PaymentRequiredV1Schema.safeParse(topupOfferBody(deps, input))
  assert.ok(checked.success, JSON.stringify(checked))
})
