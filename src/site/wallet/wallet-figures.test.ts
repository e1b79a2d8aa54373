import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Ask, AskRefused } from '#api/examples.ts'
import type { Address } from '#base/address.ts'
import { refuse } from '#base/refusal.ts'
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
  getStats: () => ({
    data: {
      prices: {},
      tokens: [{ symbol: 'GRAVE', holderCount: null, priceUnknown: 'no_source' }],
    },
    meta: { chains: [] },
  }),
  getHolder: ({ chain }) => {
    if (chain !== 'base') throw new AskRefused(refuse('data_not_ready', 'being read'))
    return { data: own }
  },
  listBurns: () => ({
    data: [burnAt(9), burnAt(3)],
    meta: { asOfUnix: 9, page: { nextCursor: 'more' } },
  }),
  listGraveDigs: () => ({ data: [burnAt(5)], meta: { asOfUnix: 9, page: { nextCursor: null } } }),
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
        priceUnknown: 'no_source',
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
    assert.deepEqual(burned, { isWhole: false, tokens, unpricedCount: 0 })
    assert.ok(usdByDay.every((each) => each === null))
    assert.deepEqual(
      newest.map(({ timestampUnix }) => timestampUnix),
      [9, 5, 3],
    )
  })

  test('count digs of every token, also of a wallet that is ranked by those of one', async () => {
    const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const ranked = { data: [{ address, token: 'GRAVE', rank: 1, digCount: 1 }] }
    const page = { nextCursor: null }
    const digs = {
      data: [burnAt(5), { ...burnAt(4), token: 'WETH' }],
      meta: { asOfUnix: 9, page },
    }
    const asking: Ask = async (id, query) =>
      id === 'rankGraveDiggers' ? ranked : id === 'listGraveDigs' ? digs : ask(id, query)
    const { digger } = await walletFigures(asking, { wallet, nowUnix: 1 })
    assert.deepEqual(digger, { ...ranked.data[0], digCount: 2 })
  })

  describe('by day', () => {
    const day = 86_400
    const nowUnix = 100 * day + 9
    /** The newest five days of a list. */
    const daysOf = async (rows: readonly object[], meta: object = {}) => {
      const page = { nextCursor: null }
      const listBurns = { data: rows, meta: { asOfUnix: nowUnix, page, ...meta } }
      const asking: Ask = async (id, query) => (id === 'listBurns' ? listBurns : ask(id, query))
      const { done } = await walletFigures(asking, { wallet, nowUnix })
      assert.ok(done.burn)
      const { usdByDay, unpricedCount } = done.burn
      return { usd: usdByDay.slice(-5), unpricedCount }
    }
    const rows = [100 * day, 99 * day + 5, 99 * day, 97 * day].map(burnAt)

    test('are in dollars at the time, and begin after the day where the list that was read ends', async () => {
      assert.deepEqual((await daysOf(rows)).usd, [0, 0.5, 0, 1, 0.5])
      const cut = await daysOf(rows, { page: { nextCursor: 'more' } })
      assert.deepEqual(cut.usd, [null, null, 0, 1, 0.5])
    })

    test('are not known where no event has a price; those without are counted of these days alone', async () => {
      const unpriced = [100, 99, 99, 5].map((at) => ({
        ...burnAt(at * day),
        amountUsdAtEvent: null,
      }))
      const { usd, unpricedCount } = await daysOf([
        ...unpriced.slice(0, 3),
        ...rows.slice(1),
        ...unpriced.slice(3),
      ])
      assert.deepEqual(usd, [0, 0.5, 0, 1, null])
      assert.equal(unpricedCount, 3)
    })
  })
})
