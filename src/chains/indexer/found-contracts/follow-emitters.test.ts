import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Address, encodeFunctionData, padHex, parseAbi, toFunctionSelector } from 'viem'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { provePrices } from '#chains/indexer/prove-prices.ts'
import { accounts } from '#devnet/addresses.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { transact } from '#test/deploy-contract.ts'
import { creationOf } from '#test/deployed-ecosystem.ts'
import { oneTokenEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { type Lie, Refused, startLyingNode } from '#test/lying-node.ts'
import { startPostgres } from '#test/postgres.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import {
  advanceAll,
  buildAnew,
  commitDepsOf,
  differenceOf,
  stepIndex,
} from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { base } = devnet.chains
const from = accounts.operator
const abi = parseAbi(['function submit(int256)', 'function confirmAggregator(address)'])

async function create(name: string, types: string, values: readonly unknown[]): Promise<Address> {
  const { contractAddress } = await transact(base.client, {
    from,
    data: creationOf(name, types, values),
  })
  return contractAddress ?? '0x'
}

const answer = (to: Address, dollars: bigint) =>
  transact(base.client, {
    ...{ from, to },
    data: encodeFunctionData({ abi, functionName: 'submit', args: [dollars * 10n ** 8n] }),
  })

const pricesIn = (engine: Engine) =>
  engine.snapshot(async (reads) => {
    const found = await reads.run(sql`
      select price from price_points where symbol = 'GRAVE' order by block_number`)
    return found.map((row) => Number(BigInt(column.text(row, 'price')) / 10n ** 54n))
  })

/** A feed with its proxy, on an index that a test drives through these nodes. */
async function followFeed(engine: Engine, rpcUrls: readonly string[]) {
  const [first, second] = [
    await create('PriceFeed', 'string', ['first']),
    await create('PriceFeed', 'string', ['second']),
  ]
  const proxy = await create('FeedProxy', 'address', [first])
  await answer(first, 1n)
  const price = { kind: 'chainlink', chain: 'base', address: proxy, decimals: 8 } as const
  const ecosystem = oneTokenEcosystemAt(base.rpcUrl, (file) => ({
    ...file,
    chains: file.chains.map((chain) => ({ ...chain, rpcUrls: [...rpcUrls] })),
    tokens: file.tokens.map((token) => ({ ...token, price })),
  }))
  let laterMs = 0
  const deps = await commitDepsOf(engine, ecosystem)
  const [chain] = ecosystem.chains
  assert.ok(chain !== undefined)
  const source = openSource(chain)
  const index = stepIndex({ ...deps, clock: () => Date.now() + laterMs }, () => source)
  return {
    ...{ first, second, ecosystem, source },
    advance: () => advanceAll(index, ecosystem.chains),
    confirm: (aggregator: Address) =>
      transact(base.client, {
        ...{ from, to: proxy },
        data: encodeFunctionData({ abi, functionName: 'confirmAggregator', args: [aggregator] }),
      }),
    askAgain() {
      laterMs += 10 * 60_000
    },
  }
}

const PHASE_AGGREGATORS = toFunctionSelector('phaseAggregators(uint16)')

/** Makes a node name this aggregator for every phase. */
const naming =
  (aggregator: Address): Lie =>
  ({ method, params: [call] }, result) =>
    method === 'eth_call' && String((call as { data?: string }).data).startsWith(PHASE_AGGREGATORS)
      ? padHex(aggregator, { size: 32 })
      : result

const onEach = eachEngine(startPostgres, registerMigrations)

onEach(
  'a feed is followed through its proxy, from one aggregator to the next',
  async ({ engine }) => {
    const feed = await followFeed(engine, [base.rpcUrl])
    const { second, ecosystem, advance } = feed
    await advance()
    assert.deepEqual(await pricesIn(engine), [1])
    await answer(second, 2n)
    await feed.confirm(second)
    await answer(second, 3n)
    await advance()
    assert.deepEqual(await pricesIn(engine), [1])
    feed.askAgain()
    await advance()
    assert.deepEqual(await pricesIn(engine), [1, 2, 3])
    await answer(second, 4n)
    await advance()
    assert.deepEqual(await pricesIn(engine), [1, 2, 3, 4])
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await buildAnew({ lived: engine, fresh, ecosystem })
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
  },
)

onEach(
  'an aggregator that one of three nodes names alone counts for no price, and is told',
  async ({ engine }) => {
    const [honest, liar] = [await startLyingNode(base.rpcUrl), await startLyingNode(base.rpcUrl)]
    try {
      const urls = [base.rpcUrl, honest.url, liar.url]
      const { source, second, ...feed } = await followFeed(engine, urls)
      await feed.advance()
      assert.deepEqual(await pricesIn(engine), [1])
      liar.lie = naming(second)
      await answer(second, 9n)
      feed.askAgain()
      await feed.advance()
      assert.deepEqual(await pricesIn(engine), [1])
      const states = source.endpoints().map(({ state, reason }) => [state, reason ?? ''] as const)
      assert.deepEqual(
        states.map(([state]) => state),
        ['ok', 'ok', 'lying'],
      )
      assert.match(states[2]?.[1] ?? '', /only it names 0x[0-9a-f]{40} behind the price at/)
      const { message = '' } = (await warningsOf(feed.ecosystem)) ?? {}
      assert.match(
        message,
        /nodes do not agree .*: only it names 0x.*counts once two nodes name it$/,
      )
      liar.lie = undefined
      await feed.confirm(second)
      feed.askAgain()
      await feed.advance()
      assert.deepEqual(await pricesIn(engine), [1, 9])
    } finally {
      await liar.stop()
      await honest.stop()
    }
  },
)

onEach('a feed waits for a second node before its first price', async ({ engine }) => {
  const other = await startLyingNode(base.rpcUrl)
  try {
    other.lie = ({ method }, result) => {
      if (method === 'eth_call') throw new Refused('not part of your plan')
      return result
    }
    const feed = await followFeed(engine, [base.rpcUrl, other.url])
    await assert.rejects(feed.advance(), /nodes do not agree on a price: .*only it names.*plan/)
    other.lie = undefined
    await feed.advance()
    assert.deepEqual(await pricesIn(engine), [1])
  } finally {
    await other.stop()
  }
})

async function warningsOf(ecosystem: Ecosystem) {
  const warnings = await Promise.all(provePrices(ecosystem, openSource))
  return warnings.find((each) => each !== undefined)
}
