import assert from 'node:assert/strict'
import { test } from 'node:test'
import { padHex, toHex } from 'viem'
import type { Address } from '#base/address.ts'
import { FoundContracts } from '#ecosystem/found-contracts.ts'
import { buildFilters, buildHeadFilters } from './select-logs.ts'

const TOPIC = padHex('0x1', { size: 32 })
const addressOf = (index: number): Address => padHex(toHex(index), { size: 20 })

function selectorOf(first: number, contracts: number) {
  const found = new FoundContracts(1, String(first))
  found.add(Array.from({ length: contracts }, (_, index) => [addressOf(first + index), 0]))
  return { chainId: 1, address: addressOf(first), topic0: TOPIC, found }
}

test('a request names 500 found contracts in all, whatever the number of factories', () => {
  const few = selectorOf(0x1000, 200)
  const more = selectorOf(0x2000, 300)
  const most = selectorOf(0x3000, 301)
  const sizesOf = (selectors: readonly (typeof few)[]) =>
    buildFilters([{ selectors }], 1).map(({ addresses }) => addresses?.length)
  assert.deepEqual(sizesOf([few, more, few]), [500])
  assert.deepEqual(sizesOf([most, few]), [200, undefined])
  assert.deepEqual(sizesOf([most, few, few, more]), [500, undefined])
})

test('new blocks are asked for by event, and checked for the contracts that are known', () => {
  const [filter] = buildHeadFilters([{ selectors: [selectorOf(0x1000, 2)] }], 1)
  assert.equal(filter?.addresses, null)
  assert.deepEqual(filter?.topics, [[TOPIC]])
  assert.deepEqual(
    filter?.pairs?.map(({ address }) => address),
    [addressOf(0x1000), addressOf(0x1001)],
  )
})
