import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Address } from '#domain/address.ts'
import { refuse } from '#domain/refusal.ts'
import { type Ask, AskRefused } from '#route/ask-routes.ts'
import { walletFigures } from './wallet-figures.ts'

const wallet = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address

const own = { balance: '5', sharePct: 1, rank: 2, excluded: false, change24h: '-1' }

function burnAt(timestampUnix: number) {
  return { id: `${timestampUnix}`, timestampUnix, token: 'GRAVE', amountRaw: '1500' }
}

const answers: Readonly<Record<string, (query: Readonly<Record<string, string>>) => object>> = {
  getMeta: () => ({
    notConfigured: ['gate'],
    tokens: [
      {
        symbol: 'GRAVE',
        role: 'primary',
        decimals: 3,
        addresses: { base: '0x1', ethereum: '0x2' },
      },
      { symbol: 'WETH', role: 'reward', decimals: 18, addresses: { base: '0x3' } },
    ],
  }),
  getStats: () => ({ data: { prices: {}, tokens: [] }, meta: { chains: [] } }),
  getHolder: ({ chain }) => {
    if (chain !== 'base') throw new AskRefused(refuse('data_not_ready', 'being read'))
    return { data: own }
  },
  listBurns: () => ({
    data: [burnAt(9), burnAt(3)],
    meta: { page: { nextCursor: 'more' } },
  }),
  listGraveDigs: () => ({ data: [burnAt(5)], meta: { page: { nextCursor: null } } }),
}

const ask: Ask = async (operationId, query = {}) => {
  const answer = answers[operationId]
  if (answer === undefined) throw new AskRefused(refuse('data_not_ready', 'being read'))
  return answer(query)
}

describe('figures of a wallet', () => {
  test('that are not known are null and never 0, and leave the others as they are', async () => {
    const { held, claims, done, gate, newest } = await walletFigures(ask, { wallet, nowUnix: 1 })
    assert.deepEqual(held, [
      {
        ...{ token: 'GRAVE', priceUsd: null, change24hPct: null, holderCount: null, inAll: null },
        chains: [
          { chain: 'base', own },
          { chain: 'ethereum', own: null },
        ],
      },
    ])
    assert.equal(claims, null)
    assert.equal(done.claim, null)
    assert.equal(gate, null)
    const tokens = [{ token: 'GRAVE', count: 2, amount: '3' }]
    assert.deepEqual(done.burn, { isWhole: false, lastUnix: 9, tokens })
    assert.deepEqual(
      newest.map(({ timestampUnix }) => timestampUnix),
      [9, 5, 3],
    )
  })
})
