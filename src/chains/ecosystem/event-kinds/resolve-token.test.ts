import assert from 'node:assert/strict'
import { test } from 'node:test'
import localEcosystem from '../ecosystems/local.ts'
import { parseEcosystem } from '../load-ecosystem.ts'

test('of two tokens at one address, the first has the dividends', () => {
  const [, , weth] = localEcosystem.tokens
  assert.ok(weth !== undefined)
  const twin = { ...weth, symbol: 'ETH', price: { kind: 'fixed', usd: '1' } }
  const tokens = [...localEcosystem.tokens, twin]
  const [claim] = parseEcosystem('mine', { ...localEcosystem, tokens }).dividends
  const args = { account: weth.addresses.base, token: weth.addresses.base, amount: 1n }
  assert.equal(claim?.read(args).token, 'WETH')
})
