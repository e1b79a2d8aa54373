import assert from 'node:assert/strict'
import { test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from './load-ecosystem.ts'

const coin = {
  ...{ symbol: 'ETH', name: 'Ether', role: 'reward', decimals: 18 },
  ...{ addresses: { base: 'native' }, price: { kind: 'fixed', usd: '2000' } },
}

test('payouts in the native coin name it as the zero address, or as that of ERC-7528', () => {
  const tokens = [...localEcosystem.tokens, coin]
  const [claim] = parseEcosystem('mine', { ...localEcosystem, tokens }).dividends
  const account = localEcosystem.tokens[0]?.addresses.base ?? assert.fail()
  for (const token of [`0x${'0'.repeat(40)}`, `0x${'eE'.repeat(20)}`])
    assert.equal(claim?.read({ account, token, amount: 1n }).token, 'ETH')
})

test('burns of the native coin are refused', () => {
  const [burn] = localEcosystem.burns
  const tokens = [...localEcosystem.tokens, coin]
  const burns = [{ ...burn, event: 'event Burned(address indexed from, uint256 value)' }].map(
    ({ where: _, to: __, ...each }: Record<string, unknown>) => ({
      ...{ ...each, token: 'ETH', from: 'from', amount: 'value' },
    }),
  )
  assert.throws(
    () => parseEcosystem('mine', { ...localEcosystem, tokens, burns }),
    /burns\[0\].token: is the native coin, whose supply and burns are not read/,
  )
})
