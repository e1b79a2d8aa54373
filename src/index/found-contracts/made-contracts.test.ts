import assert from 'node:assert/strict'
import { type Address, encodeAbiParameters, encodeEventTopics, type Hex, parseAbi } from 'viem'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { column, fromStored, sql } from '#db/sql.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { FoundContracts } from '#ecosystem/found-contracts.ts'
import { beginChain, type LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { buildAnew, differenceOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { eventually } from '#test/world.ts'

const { grave } = addresses.base
const { holder, operator } = accounts
const factory = '0x00000000000000000000000000000000000fac70'
const abi = parseAbi([
  'event PotMade(address indexed owner, address pot)',
  'event Paid(address indexed to, uint256 amount)',
])

const pot = (index: number): Address => `0x${(0xb0000 + index).toString(16).padStart(40, '0')}`
const made = (index: number): LogPlan => ({
  address: factory,
  topics: encodeEventTopics({ abi, eventName: 'PotMade', args: { owner: operator } }) as Hex[],
  data: encodeAbiParameters([{ type: 'address' }], [pot(index)]),
})
const paid = (index: number, amount: bigint): LogPlan => ({
  address: pot(index),
  topics: encodeEventTopics({ abi, eventName: 'Paid', args: { to: holder } }) as Hex[],
  data: encodeAbiParameters([{ type: 'uint256' }], [amount]),
})

const mapping = {
  chain: 'base',
  contracts: {
    factory,
    event: 'event PotMade(address indexed owner, address pot)',
    argument: 'pot',
  },
  event: 'event Paid(address indexed to, uint256 amount)',
  kind: 'claim',
  recipient: 'to',
  amount: 'amount',
  token: 'GRAVE',
} as const

const amountsIn = (engine: Engine) =>
  engine.snapshot(async (reads) => {
    const found = await reads.run(sql`
      select amount from events where dataset = 'dividends' order by block_number, place`)
    return found.map((row) => Number(fromStored(column.text(row, 'amount'))))
  })

const madeIn = (engine: Engine) =>
  engine.snapshot(async (reads) => {
    const found = await reads.run(sql`select contract from found_contracts order by contract`)
    return found.map((row) => column.text(row, 'contract'))
  })

const anomaliesIn = (engine: Engine) =>
  engine.snapshot(async (reads) => {
    const found = await reads.run(sql`
      select block_number, dataset, reason from anomalies order by block_number`)
    return found.map((row) => `${row.block_number} ${row.dataset}: ${row.reason}`)
  })

function boundedTo(max: number, ecosystem: Ecosystem): Ecosystem {
  const dividends = ecosystem.dividends.map(({ made: source, ...each }) => {
    if (source === undefined) return each
    const { chainId, key } = source.found
    return { ...each, made: { ...source, found: new FoundContracts(chainId, key, max) } }
  })
  return { ...ecosystem, dividends }
}

/** Pots are made and pay in history and near the head; strangers emit the same event all along. */
const chain = beginChain(8453, 1_700_000_000)
  .add(
    { logs: [logOf.mint(grave, operator, 10n ** 24n), paid(1, 1n)] },
    // Its own log comes before that of the factory.
    { logs: [paid(0, 2n), made(0), paid(0, 3n), paid(1, 4n)] },
    { logs: [paid(0, 5n), made(1)] },
  )
  .addEmpty(150)
  .add({ logs: [paid(0, 6n), paid(1, 7n), paid(2, 8n), paid(99, 9n)] })
  .addEmpty(2)

interface World {
  readonly base: ServedChain
  readonly ecosystem: Ecosystem
  index(engine: Engine): Promise<readonly number[]>
}

async function withWorld(
  work: (world: World) => Promise<void>,
  { manyMade = 0 } = {},
): Promise<void> {
  const logs = Array.from({ length: manyMade }, (_, index) => made(1_000 + index))
  const base = await serveChain(manyMade === 0 ? chain : beginWith(logs), { finalDepth: 8 })
  try {
    const ecosystem = ecosystemAt(base)
    await work({ base, ecosystem, index: (engine) => indexOnce(ecosystem, engine) })
  } finally {
    await base.stop()
  }
}

function beginWith(logs: readonly LogPlan[]) {
  const mint = logOf.mint(grave, operator, 10n ** 24n)
  return beginChain(8453, 1_700_000_000)
    .add({ logs: [mint, ...logs] }, { logs: [paid(1_000, 1n), paid(99, 2n)] })
    .addEmpty(100)
    .add({ logs: [paid(1_599, 3n)] })
}

const ecosystemAt = (base: ServedChain) =>
  oneTokenEcosystemAt(base.url, (one) => ({ ...one, dividends: [mapping] }))

async function indexOnce(ecosystem: Ecosystem, engine: Engine) {
  const indexer = startIndexer({ ecosystem, register: engine })
  try {
    await indexer.caughtUp()
  } finally {
    await indexer.stop()
  }
  return amountsIn(engine)
}

const onEach = eachEngine(startPostgres, registerMigrations)

onEach('logs of made contracts count from the block in which they were made', ({ engine }) =>
  withWorld(async ({ base, index }) => {
    assert.deepEqual(await index(engine), [2, 3, 5, 6, 7])
    base.chain = base.chain.add({ logs: [paid(2, 10n), made(2), paid(2, 11n), paid(1, 12n)] })
    assert.deepEqual(await index(engine), [2, 3, 5, 6, 7, 10, 11, 12])
  }),
)

onEach('a contract leaves with the block that made it', ({ engine }) =>
  withWorld(async ({ base, ecosystem, index }) => {
    const height = base.chain.head.number
    const indexer = startIndexer({ ecosystem, register: engine })
    try {
      base.chain = base.chain.add({ logs: [made(2), paid(2, 10n)] }).addEmpty(2)
      await indexer.caughtUp()
      assert.deepEqual(await amountsIn(engine), [2, 3, 5, 6, 7, 10])
      base.chain = base.chain
        .fork(height)
        .add({ logs: [paid(2, 11n)] }, { logs: [made(3), paid(3, 12n)] })
        .addEmpty(3)
      await indexer.caughtUp()
      assert.deepEqual(await amountsIn(engine), [2, 3, 5, 6, 7, 12])
    } finally {
      await indexer.stop()
    }
    base.chain = base.chain.addEmpty(100)
    await index(engine)
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await buildAnew({ lived: engine, fresh, ecosystem: ecosystemAt(base) })
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
  }),
)

onEach('a factory is followed up to a number of contracts, the same in any index', ({ engine }) =>
  withWorld(async ({ base }) => {
    const bounded = () => boundedTo(3, ecosystemAt(base))
    assert.deepEqual(await indexOnce(bounded(), engine), [2, 3, 5, 6, 7])
    // Two contracts of one block: the lower address is followed.
    base.chain = base.chain.add(
      { logs: [made(4), made(2), paid(4, 10n), paid(2, 11n)] },
      { logs: [made(3), paid(3, 12n), paid(2, 13n)] },
    )
    assert.deepEqual(await indexOnce(bounded(), engine), [2, 3, 5, 6, 7, 11, 13])
    assert.deepEqual(await madeIn(engine), [pot(0), pot(1), pot(2)])
    const told = `dividends: ${factory} made more than 3 contracts; only the first ones are followed`
    const height = base.chain.head.number
    assert.deepEqual(await anomaliesIn(engine), [`${height - 1} ${told}`, `${height} ${told}`])
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      base.chain = base.chain.addEmpty(150)
      await indexOnce(bounded(), engine)
      await buildAnew({ lived: engine, fresh, ecosystem: bounded() })
      assert.equal(await differenceOf(engine, fresh), undefined)
      assert.deepEqual(await madeIn(fresh), await madeIn(engine))
    })
  }),
)

onEach('a log of a made contract that a node leaves out of a new block is noticed', ({ engine }) =>
  withWorld(async ({ base, ecosystem }) => {
    const indexer = startIndexer({ ecosystem, register: engine })
    try {
      await indexer.caughtUp()
      base.faults.hiddenLogs = 'other-events'
      base.chain = base.chain.add({ logs: [paid(99, 9n), paid(1, 10n)] })
      await eventually(async () => indexer.failures.length > 0 || undefined, 30_000)
      assert.match(
        String(indexer.failures[0]),
        /the node returned 1 logs, but its receipts hold 1 more/,
      )
      base.faults.hiddenLogs = 'none'
      await untilAmounts(engine, [2, 3, 5, 6, 7, 10])
    } finally {
      await indexer.stop()
    }
  }),
)

onEach('a chain is followed on while its node refuses to be asked about a feed', ({ engine }) =>
  withWorld(async ({ base }) => {
    const price = { kind: 'chainlink', chain: 'base', address: factory, decimals: 18 } as const
    const ecosystem = oneTokenEcosystemAt(base.url, (one) => ({
      ...one,
      dividends: [mapping],
      tokens: one.tokens.map((token) => ({ ...token, price })),
    }))
    let laterMs = 0
    const indexer = startIndexer({ ecosystem, register: engine, clock: () => Date.now() + laterMs })
    try {
      await untilAmounts(engine, [2, 3, 5, 6, 7])
      base.faults.callRefusal = { code: -32_000, message: 'missing trie node' }
      laterMs = 11 * 60_000
      base.chain = base.chain.add({ logs: [paid(1, 12n)] })
      await untilAmounts(engine, [2, 3, 5, 6, 7, 12])
    } finally {
      await indexer.stop()
    }
  }),
)

async function untilAmounts(engine: Engine, wanted: readonly number[]): Promise<void> {
  await eventually(async () => {
    return String(await amountsIn(engine)) === String(wanted) ? true : undefined
  }, 30_000)
}
