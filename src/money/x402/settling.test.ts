import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '#config.ts'
import { PAYMENT } from '#test/x402/settling-harness.ts'
import { settlingSettingOf } from './settling.ts'

const URL = 'https://facilitator.example'
const KEY = { SEXTON_SETTLING_KEY_FILE: '/run/key' }
const HEADERS = { SEXTON_FACILITATOR_HEADERS_FILE: '/run/headers' }

const settle = { ...PAYMENT, settle: { facilitator: URL } }

const read = (payment: typeof PAYMENT | null, environment = {}) =>
  settlingSettingOf({
    ecosystem: { payment },
    config: readConfig(environment, { isTty: false }),
  })

test('payments are settled by a wallet or by a facilitator, or not at all', () => {
  assert.equal(read(PAYMENT), undefined)
  assert.equal(read(null), undefined)
  assert.deepEqual(read(PAYMENT, KEY), {
    ...{ kind: 'wallet', keyFile: '/run/key' },
    ...{ gasPerDayGwei: 40_000_000, etherUsd: 5_000 },
  })
  assert.deepEqual(read(settle), { kind: 'facilitator', url: URL, headersFile: undefined })
  assert.deepEqual(read(settle, HEADERS), {
    ...{ kind: 'facilitator', url: URL, headersFile: '/run/headers' },
  })
})

test('both at once, and a file that belongs to neither, are refused by name', () => {
  assert.throws(() => read(settle, KEY), /SETTLING_KEY_FILE: .* keep one of them/)
  assert.throws(() => read(null, KEY), /SETTLING_KEY_FILE: the ecosystem file has no "payment"/)
  assert.throws(() => read(PAYMENT, HEADERS), /HEADERS_FILE: .* names no facilitator/)
})
