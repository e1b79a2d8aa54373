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

const EMITTED = { lines: [], burnEvents: [], withoutBurns: undefined }

function findings(name: string, id: number, more: Partial<Findings> = {}): Findings {
  return {
    entry: {
      name,
      id,
      rpcUrls: ['http://127.0.0.1:8545'],
      startBlock: 5,
      pollIntervalMs: 500,
      finality: 8,
      staleAfterSeconds: 60,
    },
    notes: {},
    token: { address: addressOf('1'), symbol: 'MINE', name: 'Mine', decimals: 18 },
    isShare: false,
    pool: undefined,
    quotes: [],
    asset: undefined,
    events: EMITTED,
    ...more,
  }
}

const usdc = { address: addressOf('2'), symbol: 'USDC', name: 'USD Coin', decimals: 6 }

test('two contracts of one symbol are two tokens, and the price names the one in the pool', () => {
  const other = { ...usdc, address: addressOf('3') }
  const pool = { kind: 'uniswap-v2', address: addressOf('4'), quote: other } as const
  const floor = { member: { minLiquidityUsd: '1000' }, evidence: 'a tenth of it' }
  const price = { kind: 'fixed', usd: '1' } as const
  const quotes = [usdc, other].map((token) => ({
    token,
    price,
    usd: 1,
    evidence: 'a symbol',
  }))
  const found = [findings('base', 8453, { pool: { pool, usd: 5_000, floor }, quotes })]
  const { file, notes, questions } = draftFile(found, { ...answers, payTo: undefined })
  const { tokens, primary } = parseEcosystem('draft', file)
  assert.deepEqual(
    tokens.map(({ symbol }) => symbol),
    ['MINE', 'USDC', 'USDC-2'],
  )
  const [source] = primary.prices
  assert.ok(source !== undefined && source.chain !== null)
  assert.deepEqual([source.quote, source.floor], ['USDC-2', 1_000_000_000n])
  assert.match(notes.get('tokens[0].price') ?? '', /about 5000 USD of USDC-2 in it; a tenth of it$/)
  // The gate reads no deeper than the chain's finality.
  const { gate } = parseEcosystem('answered', { ...file, gate: questions[0]?.entry })
  assert.ok(gate !== null && gate !== 'open' && gate.depthBlocks === 8)
})

test('a wallet for payments without an asset to pay in is refused, not dropped', () => {
  assert.throws(() => draftFile([findings('base', 8453)], answers), /--pay-to: no USDC.*on base/)
})
