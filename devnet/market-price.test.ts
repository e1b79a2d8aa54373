import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marketPriceUsd } from '#devnet/market-price.ts'

test('prices stay within the ranges they promise and move from day to day', () => {
  const ranges = { eth: [2660, 3390], grave: [0.021, 0.048], crypt: [0.6, 1.65] } as const
  for (const asset of ['eth', 'grave', 'crypt'] as const) {
    const [low, high] = ranges[asset]
    const prices = Array.from({ length: 2000 }, (_, day) =>
      marketPriceUsd({ seed: 1, asset, atUnix: 1_800_000_000 + day * 86_400 }),
    )
    for (const price of prices) assert.ok(price >= low && price <= high, `${asset} ${price}`)
    assert.ok(Math.max(...prices) > Math.min(...prices) * 1.1)
  }
})

test('a price follows from seed and time alone', () => {
  const input = { seed: 7, asset: 'eth', atUnix: 1_800_000_123 } as const
  assert.equal(marketPriceUsd(input), marketPriceUsd({ ...input }))
  assert.notEqual(marketPriceUsd(input), marketPriceUsd({ ...input, seed: 8 }))
})
