import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { toBase64 } from './offer.ts'
import { readPayment } from './payload.ts'

const accepted = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '100000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2', paymentFlow: 'upfront' },
} as const

async function stockPayload() {
  const account = privateKeyToAccount(generatePrivateKey())
  const made = await new ExactEvmScheme(account).createPaymentPayload(2, accepted)
  return { account, payload: { ...made, x402Version: 2, accepted } }
}

test('what a stock client signs is read', async () => {
  const { account, payload } = await stockPayload()
  const header = encodePaymentSignatureHeader(payload)
  const payment = readPayment({ 'payment-signature': header })
  assert.ok(typeof payment !== 'string', String(payment))
  const { authorization } = payment
  assert.equal(authorization.from, account.address.toLowerCase())
  assert.equal(authorization.value, 100_000n)
})

test('two payments in one request, or one in the header of the other version, are refused', async () => {
  const text = toBase64((await stockPayload()).payload)
  assert.equal(readPayment({ 'payment-signature': text, 'x-payment': text }), 'invalid_payload')
  assert.equal(readPayment({ 'payment-signature': `${text}, ${text}` }), 'invalid_payload')
  assert.equal(readPayment({ 'x-payment': text }), 'invalid_x402_version')
})

test('whatever stands in the header, reading it gives a payment or a reason', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString('base64')),
    fc.anything().map((value) => toBase64({ x402Version: 2, accepted: value, payload: value })),
  )
  fc.assert(
    fc.property(anything, (text) => {
      assert.equal(typeof readPayment({ 'payment-signature': text }), 'string')
    }),
  )
})
