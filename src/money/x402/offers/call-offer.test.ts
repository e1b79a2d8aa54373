import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { callOfferHeader, OFFER_LENGTH_MAX } from './call-offer.ts'

const ecosystem = parseEcosystem('local.ts', localEcosystem)
assert.ok(ecosystem.payment !== null)
const deps = {
  payment: ecosystem.payment,
  pricePerCall: ecosystem.pricePerCall,
  clock: () => Date.UTC(2026, 10, 21),
  newId: () => crypto.randomUUID(),
  amounts: [100_000n, 1_000_000n],
  publicBaseUrl: 'https://api.example.com',
}

function offerOf(target: string, publicBaseUrl = deps.publicBaseUrl) {
  const error = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const header = callOfferHeader({ ...deps, publicBaseUrl }, { target, offersSignIn: true, error })
  assert.ok(header.length <= OFFER_LENGTH_MAX, String(header.length))
  const { resource, extensions } = decodePaymentRequiredHeader(header)
  return { url: resource?.url, signsIn: extensions?.['sign-in-with-x'] !== undefined }
}

test('an offer names the whole URL of the call, with its query', () => {
  const target = '/api/stats/history?metric=supply&period=365d'
  const url = `https://api.example.com${target}`
  assert.deepEqual(offerOf(target), { url, signsIn: true })
})

test('the offer to a call with a long query leaves the query out', () => {
  const path = `/api/dividends/0x${'ab'.repeat(20)}`
  const url = `https://api.example.com${path}`
  for (const length of [200, 1_000, 15_000])
    assert.deepEqual(offerOf(`${path}?x=${'a'.repeat(length)}`), { url, signsIn: true })
})

test('where a service has a long name, its offers leave the sign-in out before they are too long', () => {
  const base = `https://api.example.com/${'long/'.repeat(60)}v1`
  assert.deepEqual(offerOf('/api/stats', base), { url: `${base}/api/stats`, signsIn: false })
})
