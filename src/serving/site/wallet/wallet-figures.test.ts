import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Address } from '#domain/address.ts'
import { refuse } from '#domain/refusal.ts'
import { type Ask, AskRefused } from '#route/ask-routes.ts'
import { walletFigures } from './wallet-figures.ts'

const wallet = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address

const own = { balance: '5', sharePct: 1, rank: 2, excluded: false, change24h: '-1' }

function burnAt(timestampUnix: number) {
  const row = { id: `${timestampUnix}`, timestampUnix, token: 'GRAVE', amountRaw: '1500' }
  return { ...row, amountUsdAtEvent: timestampUnix === 9 ? null : 0.5 }
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
    assert.ok(done.burn)
    const { usdByDay, ...burned } = done.burn
    assert.deepEqual(burned, { isWhole: false, lastUnix: 9, tokens, unpricedCount: 1 })
    assert.ok(usdByDay.every((each) => each === null))
    assert.deepEqual(
      newest.map(({ timestampUnix }) => timestampUnix),
      [9, 5, 3],
    )
  })

  test('by day are in dollars at the time, and end where the list that was read ends', async () => {
    const day = 86_400
    const rows = [100 * day, 99 * day + 5, 99 * day, 97 * day].map(burnAt)
    const of = async (nextCursor: string | null) => {
      const listBurns = { data: rows, meta: { page: { nextCursor } } }
      const asking: Ask = async (id, query) => (id === 'listBurns' ? listBurns : ask(id, query))
      const { done } = await walletFigures(asking, { wallet, nowUnix: 100 * day + 9 })
      return done.burn?.usdByDay.slice(-5)
    }
    assert.deepEqual(await of(null), [0, 0.5, 0, 1, 0.5])
    assert.deepEqual(await of('more'), [null, null, 0, 1, 0.5])
  })
})
