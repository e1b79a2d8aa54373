import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeEventTopics, parseAbi } from 'viem'
import type { Address } from '#base/address.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { burnsDataset } from './dataset.ts'

const bridge = '0x4200000000000000000000000000000000000010'
const stranger = '0x3333333333333333333333333333333333333333'
const event = 'event Bridged(address indexed token, uint256 amount)'

const tokens = localEcosystem.tokens.map((token) => {
  const address = token.addresses.base
  if (address === undefined || token.role === 'reward') return token
  const where = { token: address }
  return { ...token, bridges: [{ chain: 'base', address: bridge, event, amount: 'amount', where }] }
})
const ecosystem = parseEcosystem('shared bridge', { ...localEcosystem, tokens })
const dataset = burnsDataset(ecosystem)

function stated(token: Address) {
  const topics = encodeEventTopics({ abi: parseAbi([event]), args: { token } })
  return dataset
    .decode(
      {
        ...{ chainId: 8453, blockNumber: 1, blockHash: '0x01', timestamp: 1, txHash: '0x02' },
        ...{ txIndex: 0, logIndex: 0, address: bridge, topics: topics as [`0x${string}`] },
        data: `0x${'9'.padStart(64, '0')}`,
      },
      [],
    )
    .flatMap(({ bridged }) => bridged.map((each) => [each.token, each.amount]))
}

test('a bridge of many tokens states moves of each listed one, and none for a token of a stranger', () => {
  const [primary, secondary] = ecosystem.tokens.map(({ addresses }) => addresses.get('base'))
  assert.ok(primary !== undefined && secondary !== undefined)
  assert.deepEqual(stated(primary), [['GRAVE', 9n]])
  assert.deepEqual(stated(secondary), [['CRYPT', 9n]])
  assert.deepEqual(stated(stranger), [])
})
