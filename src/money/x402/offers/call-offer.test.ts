import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { callOfferHeader, OFFER_LENGTH_MAX } from '#money/x402/pay-for-call.ts'

const ecosystem = parseEcosystem('local.ts', localEcosystem)
assert.ok(ecosystem.payment !== null)
const deps = {
  payment: ecosystem.payment,
  pricePerCall: ecosystem.pricePerCall,
  clock: () => Date.UTC(2026, 10, 21),
  amounts: [100_000n, 1_000_000n],
  publicBaseUrl: 'https://api.example.com',
}

function urlOffered(target: string) {
  const error = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const header = callOfferHeader(deps, { target, error })
  assert.ok(header.length <= OFFER_LENGTH_MAX, String(header.length))
  return decodePaymentRequiredHeader(header).resource?.url
}

test('an offer names the whole URL of the call, with its query', () => {
  const target = '/api/stats/history?metric=supply&period=365d'
  assert.equal(urlOffered(target), `https://api.example.com${target}`)
})

test('the offer to a call with a long query leaves the query out', () => {
  const path = `/api/dividends/0x${'ab'.repeat(20)}`
  const url = `https://api.example.com${path}`
  for (const length of [3_000, 15_000])
    assert.equal(urlOffered(`${path}?x=${'a'.repeat(length)}`), url)
})
