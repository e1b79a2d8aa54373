import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { accounts } from '#devnet/addresses.ts'
import { transact } from '#test/deploy-contract.ts'
import { creationOf } from '#test/deployed-ecosystem.ts'
import { oneTokenEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
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
    return found.map((row) => Number(column.bigint(row, 'price') / 10n ** 54n))
  })

/** A feed with its proxy, on an index that a test drives. */
async function followFeed(engine: Engine) {
  const [first, second] = [
    await create('PriceFeed', 'string', ['first']),
    await create('PriceFeed', 'string', ['second']),
  ]
  const proxy = await create('FeedProxy', 'address', [first])
  await answer(first, 1n)
  const price = { kind: 'chainlink', chain: 'base', address: proxy, decimals: 8 } as const
  const ecosystem = oneTokenEcosystemAt(base.rpcUrl, (file) => ({
    ...file,
    tokens: file.tokens.map((token) => ({ ...token, price })),
  }))
  let laterMs = 0
  const deps = await commitDepsOf(engine, ecosystem)
  const [chain] = ecosystem.chains
  assert.ok(chain !== undefined)
  const source = openSource(chain)
  const index = stepIndex({ ...deps, clock: () => Date.now() + laterMs }, () => source)
  return {
    ...{ first, second, ecosystem },
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

const onEach = eachEngine(startPostgres, registerMigrations)

onEach(
  'a feed is followed through its proxy, from one aggregator to the next, and not back',
  async ({ engine }) => {
    const feed = await followFeed(engine)
    const { first, second, ecosystem, advance } = feed
    await advance()
    assert.deepEqual(await pricesIn(engine), [1])
    await answer(second, 2n)
    await feed.confirm(second)
    await answer(second, 3n)
    await advance()
    assert.deepEqual(await pricesIn(engine), [1])
    feed.askAgain()
    await advance()
    assert.deepEqual(await pricesIn(engine), [1])
    await answer(second, 4n)
    await answer(first, 9n)
    await advance()
    assert.deepEqual(await pricesIn(engine), [1, 4])
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await buildAnew({ lived: engine, fresh, ecosystem })
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
  },
)
