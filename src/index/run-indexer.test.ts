import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { Leader } from '#index/leader.ts'
import { readUnknown } from '#index/status.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, type RunningIndexer, startIndexer } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { buildAnew, differenceOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { readPosition, readProgress } from './status.ts'

const { grave } = addresses.base
const { holder, operator, poor } = accounts
const finalDepth = 8
const genesisUnix = 1_700_000_000

interface World {
  readonly base: ServedChain
  readonly ecosystem: Ecosystem
  /** Starts an indexer that ends with the test, however that ends. */
  start(register: Engine, more?: Parameters<typeof startIndexer>[1]): RunningIndexer
}

/** Two served chains; base has a mint and 40 blocks with a transfer each. */
async function withChains(work: (world: World) => Promise<void>): Promise<void> {
  const transfers = Array.from({ length: 40 }, (_, index) => ({
    logs: [logOf.transfer(grave, operator, holder, BigInt(index + 1))],
  }))
  const chain = beginChain(8453, genesisUnix)
    .add({ logs: [logOf.mint(grave, operator, 1_000_000n)] })
    .add(...transfers)
  const base = await serveChain(chain, { finalDepth })
  const indexers: RunningIndexer[] = []
  const ethereum = await serveChain(beginChain(1, genesisUnix).addEmpty(20), { finalDepth })
  try {
    const ecosystem = localEcosystemAt({ base: base.url, ethereum: ethereum.url })
    const start: World['start'] = (register, more) => {
      const indexer = startIndexer({ ecosystem, register }, more)
      indexers.push(indexer)
      return indexer
    }
    await work({ base, ecosystem, start })
  } finally {
    for (const indexer of indexers) await indexer.stop()
    await base.stop()
    await ethereum.stop()
  }
}

async function positionOf(register: Engine): Promise<number | undefined> {
  return (await register.snapshot((reads) => readPosition(reads, 8453)))?.number
}

/** Longer than five polls of a chain, so that whatever would happen has happened. */
const fivePollsMs = 1_000

const onEach = eachEngine(startPostgres, registerMigrations)
const onPostgres = eachEngine(startPostgres, registerMigrations, ['postgres'])

onEach('an index that was stopped at any moment goes on to the same figures', ({ engine }) =>
  withChains(async ({ base, ecosystem, start }) => {
    for (const waitMs of [0, 5, 20, 60]) {
      const indexer = start(engine)
      await sleep(waitMs)
      await indexer.stop()
    }
    base.chain = base.chain.fork(37).addEmpty(5)
    const indexer = start(engine)
    await indexer.caughtUp()
    await indexer.stop()
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await buildAnew({ lived: engine, fresh, ecosystem })
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
  }),
)

onEach('what was final stays final when a node tells less', ({ engine }) =>
  withChains(async ({ base, ecosystem, start }) => {
    const indexer = start(engine)
    await indexer.caughtUp()
    base.finalDepth = finalDepth + 10
    base.chain = base.chain.addEmpty(1)
    await sleep(fivePollsMs)
    await indexer.stop()
    assert.equal(await positionOf(engine), 42)
    const finalized = (await engine.snapshot((reads) => readProgress(reads, 8453)))?.finalizedNumber
    assert.equal(finalized, 41 - finalDepth)
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await buildAnew({ lived: engine, fresh, ecosystem })
      assert.equal(await differenceOf(engine, fresh), undefined)
    })
  }),
)

function onChains(
  guarantee: string,
  work: (world: World & { readonly register: Engine }) => Promise<void>,
) {
  test(guarantee, () =>
    onSqlite(registerMigrations, ({ engine }) =>
      withChains((world) => work({ ...world, register: engine })),
    ),
  )
}

onChains('a chain that stays shorter on another branch is followed back', async (world) => {
  const { base, register, start } = world
  const indexer = start(register)
  await indexer.caughtUp()
  base.chain = base.chain.fork(36).addEmpty(2)
  await indexer.caughtUp()
  assert.equal(await positionOf(register), 38)
  assert.deepEqual(indexer.failures, [])
})

onChains('a reorganisation of final blocks stops the chain and deletes nothing', async (world) => {
  const { base, register, start } = world
  const indexer = start(register)
  await indexer.caughtUp()
  const before = await register.read(sql`select * from balances order by token, address`)
  base.chain = base.chain.fork(10).addEmpty(40)
  await sleep(fivePollsMs)
  assert.match(String(indexer.failures.at(-1)), /older than finality allows; check the endpoint/)
  assert.equal(await positionOf(register), 41)
  const after = await register.read(sql`select * from balances order by token, address`)
  assert.deepEqual(after, before)
})

onChains(
  'unreadable logs are stored as anomalies, however many, and stop nothing',
  async (world) => {
    const { base, register, start } = world
    const broken = { ...logOf.transfer(grave, operator, holder, 1n), data: '0x' as const }
    base.chain = base.chain.add({ logs: Array.from({ length: 700 }, () => broken) }).addEmpty(1)
    const indexer = start(register)
    await indexer.caughtUp()
    const anomalies = await register.read(sql`select block_number, dataset, reason from anomalies`)
    assert.equal(anomalies.filter((row) => row.dataset === 'holders').length, 700)
    assert.ok(anomalies.every((row) => row.block_number === 42))
    assert.match(String(anomalies[0]?.reason), /./)
    base.chain = base.chain.fork(41).addEmpty(2)
    await indexer.caughtUp()
    assert.deepEqual(await register.read(sql`select reason from anomalies`), [])
  },
)

onChains(
  'a balance that no transfer explains makes its token unknown, in words that name the remedy, and stops nothing',
  async (world) => {
    const { base, register, start } = world
    const indexer = start(register)
    await indexer.caughtUp()
    base.chain = base.chain.add({ logs: [logOf.transfer(grave, poor, holder, 1n)] }).addEmpty(3)
    await indexer.caughtUp()
    assert.equal(indexer.failures.length, 0)
    assert.equal(await positionOf(register), base.chain.head.number)
    const [unknown, ...others] = await register.snapshot(readUnknown)
    assert.deepEqual(
      [unknown?.dataset, unknown?.contract, others],
      ['holders', grave.toLowerCase(), []],
    )
    assert.match(
      unknown?.detail ?? '',
      /sent more GRAVE than it ever received: the chain's startBlock is later/,
    )
  },
)

onPostgres(
  'a writer that another leader has followed stops writing until it leads again',
  ({ engine }) =>
    withChains(async ({ base, start }) => {
      const held: boolean[] = []
      const more = { onLead: (each: boolean) => void held.push(each) }
      const indexer = start(engine, more)
      await indexer.caughtUp()
      const second = new Leader({ engine, name: 'index' })
      assert.ok(!(await second.take()))
      await engine.read(sql`
        select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())`)
      assert.ok(await second.take())
      base.chain = base.chain.addEmpty(1)
      await sleep(fivePollsMs)
      assert.equal(await positionOf(engine), 41)
      assert.equal(held.at(-1), false)
      await second.handOver()
      await indexer.caughtUp()
      assert.equal(held.at(-1), true)
      await indexer.stop()
    }),
)
