import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters, encodeEventTopics, parseAbi, parseAbiParameters } from 'viem'
import { registerMigrations } from '#datasets/datasets.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Address } from '#domain/address.ts'
import { onSqlite } from '#ledger/each-engine.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'

const POOL: Address = `0x${'57'.repeat(20)}`
const STAKER: Address = `0x${'11'.repeat(20)}`
const EVENTS = {
  stake: 'event Staked(address indexed account, uint256 amount)',
  withdrawal: 'event Withdrawn(address indexed account, uint256 amount)',
} as const

const logOf = (kind: keyof typeof EVENTS, amount: bigint) => ({
  address: POOL,
  topics: encodeEventTopics({
    abi: parseAbi([EVENTS[kind]]),
    args: { account: STAKER },
  }) as readonly `0x${string}`[],
  data: encodeAbiParameters(parseAbiParameters('uint256'), [amount]),
})

test('stakes and withdrawals are listed, and stakes are summed', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const logs = [logOf('stake', 5n), logOf('withdrawal', 2n), logOf('stake', 7n)]
    const node = await serveChain(beginChain(8453, 1_700_000_000).add({ logs }))
    const ecosystem = oneTokenEcosystemAt(node.url, (one) => ({
      ...one,
      stakes: (['stake', 'withdrawal'] as const).map((kind) => ({
        ...{ chain: 'base', address: POOL, event: EVENTS[kind], token: 'GRAVE' },
        ...{ kind, staker: 'account', amount: 'amount' },
      })),
    }))
    assert.equal(ecosystem.primary.addresses.get('base'), addresses.base.grave.toLowerCase())
    const indexer = startIndexer({ ecosystem, register })
    try {
      await indexer.caughtUp()
      const routes = dataRoutesOf({ register, ecosystem })
      const { data: list } = await readRoute(routes, '/api/stakes')
      const rows = list as readonly { readonly kind: string; readonly amountRaw: string }[]
      const shown = rows.map(({ kind, amountRaw }) => `${kind} ${amountRaw}`)
      assert.deepEqual(shown, ['stake 7', 'withdrawal 2', 'stake 5'])
      const { data: total } = await readRoute(routes, '/api/stakes/total')
      assert.deepEqual(total, {
        token: 'GRAVE',
        ...{ totalStaked: '0.000000000000000012', totalStakedRaw: '12', stakeCount: 2 },
      })
    } finally {
      await indexer.stop()
      await node.stop()
    }
  }))
