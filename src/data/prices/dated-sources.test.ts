import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSelector } from 'ox/AbiEvent'
import { encode, from } from 'ox/AbiParameters'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { priceSeries, pricesDataset } from './dataset.ts'

const pools = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}` as const)

test('once a source of a list counts, none before it does, even where a block and a day are not in their order', () => {
  const [oldest, blockDated, dayDated] = pools.map((address) => ({
    ...({ kind: 'uniswap-v2', chain: 'base', address, quote: 'WETH' } as const),
  }))
  assert.ok(oldest !== undefined && blockDated !== undefined && dayDated !== undefined)
  const price = [oldest, { ...blockDated, since: 1_000 }, { ...dayDated, since: '2026-01-02' }]
  const tokens = localEcosystem.tokens.map((token, index) =>
    index === 0 ? { ...token, price } : token,
  )
  const ecosystem = parseEcosystem('dated', { ...localEcosystem, tokens })
  const series = priceSeries(ecosystem.tokens.slice(0, 1))
  const dataset = pricesDataset(priceSeries(ecosystem.tokens))
  const topic0 = getSelector(series[0]?.source.events[0] ?? assert.fail())
  const countedAt = (blockNumber: number, day: string) =>
    pools.filter((address) => {
      const at = { chainId: 8453, blockNumber, timestamp: Date.parse(day) / 1_000 }
      const place = { txIndex: 0, logIndex: 0, blockHash: '0x01', txHash: '0x02' } as const
      const data = encode(from('uint112, uint112'), [10n ** 18n, 10n ** 18n])
      return dataset.decode({ ...at, ...place, address, topics: [topic0], data }, []).length > 0
    })
  assert.deepEqual(countedAt(500, '2026-01-01'), [pools[0]])
  assert.deepEqual(countedAt(500, '2026-01-02'), [pools[2]])
  assert.deepEqual(countedAt(1_000, '2026-01-01'), [pools[1]])
  assert.deepEqual(countedAt(1_000, '2026-01-02'), [pools[2]])
})
