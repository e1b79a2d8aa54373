import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from '#base/address.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { Findings } from '#ops/setup/inspect-chain.ts'
import { draftFile } from './draft-file.ts'

const addressOf = (digit: string): Address => `0x${digit.repeat(40)}`

const answers = {
  serviceName: 'Mine',
  publicBaseUrl: 'http://localhost:4020',
  payTo: addressOf('9'),
  today: '2026-01-02',
}

const token = { address: addressOf('1'), symbol: 'MINE', name: 'Mine', decimals: 18 }

const found: Findings = {
  entry: {
    name: 'base',
    id: 8453,
    rpcUrls: ['http://127.0.0.1:8545'],
    startBlock: 5,
    pollIntervalMs: 500,
    finality: 8,
    staleAfterSeconds: 60,
  },
  notes: {},
  token,
  price: undefined,
  asset: undefined,
}

test('two contracts of one symbol are two tokens, and the price names the one in the pool', () => {
  const pool = { kind: 'uniswap-v2', chain: 'base', address: addressOf('4') } as const
  const other = { ...token, address: addressOf('3') }
  const path = [
    { token, price: { ...pool, minLiquidityUsd: '1000' }, evidence: 'the deepest' },
    { token: other, price: { kind: 'fixed', usd: '1' } as const, evidence: 'a symbol' },
  ]
  const price = { usd: 1, depthUsd: 5_000, path }
  const { file, notes } = draftFile([{ ...found, price }], { ...answers, payTo: undefined })
  const { tokens, primary } = parseEcosystem('draft', file)
  assert.deepEqual(
    tokens.map(({ symbol }) => symbol),
    ['MINE', 'MINE-2'],
  )
  const [source] = primary.prices
  assert.ok(source !== undefined && source.chain !== null)
  assert.deepEqual([source.quote, source.floor], ['MINE-2', 1_000_000_000n])
  assert.equal(notes.get('tokens[0].price'), 'the deepest')
})

test('a wallet for payments without an asset to pay in is refused, not dropped', () => {
  assert.throws(() => draftFile([found], answers), /--pay-to: no USDC.*on base/)
})
