import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateDiscoveryExtension } from '@x402/extensions/bazaar'
import { DISCOVERY } from './discovery.ts'

test("the top-up's description for directories is valid by the extension's own library", () => {
  assert.deepEqual(validateDiscoveryExtension(DISCOVERY.bazaar as never), { valid: true })
  const { info, schema } = DISCOVERY.bazaar
  const wrong = { info: { ...info, input: { ...info.input, method: 'BREW' } }, schema }
  assert.equal(validateDiscoveryExtension(wrong as never).valid, false)
})
