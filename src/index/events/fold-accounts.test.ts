import assert from 'node:assert/strict'
import fc from 'fast-check'
import { DAY_SECONDS } from '#base/time.ts'
import { registerMigrations } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { fromStored, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { revertEvents, storeValued } from './event-dataset.ts'
import type { EventFact } from './sums.ts'

const onEngines = eachEngine(startPostgres, registerMigrations)

const TOKENS = ['A', 'B', 'C']

const DATASET = 'dividends'

/** Some blocks of events, each block one change, and the block after which all are taken back. */
const history = fc.record({
  blocks: fc.array(
    fc.array(fc.record({ token: fc.nat(2), account: fc.nat(3) }), { maxLength: 6 }),
    {
      minLength: 1,
      maxLength: 6,
    },
  ),
  ancestor: fc.nat(6),
})

onEngines(
  'an account of several tokens is counted once, and no longer when all are gone',
  ({ engine }) =>
    fc.assert(
      fc.asyncProperty(history, async ({ blocks, ancestor }) => {
        const facts = blocks.map((events, block) =>
          events.map(({ token, account }, index) => factOf({ block, index, token, account })),
        )
        await engine.write(async (tx) => {
          for (const some of facts) await store(tx, some)
          const left = facts.slice(0, ancestor + 1).flat()
          await revertEvents(changeOf(tx), DATASET, { number: ancestor, hash: '0x', timestamp: 0 })
          assert.equal(await countOf(tx), new Set(left.map(({ account }) => account)).size)
          assert.deepEqual(await rowsOf(tx), expectedRows(left))
          await revertEvents(changeOf(tx), DATASET, { number: -1, hash: '0x', timestamp: 0 })
          assert.equal(await countOf(tx), 0)
          assert.deepEqual(await rowsOf(tx), [])
        })
      }),
      { numRuns: 60 },
    ),
)

function factOf(input: {
  readonly block: number
  readonly index: number
  readonly token: number
  readonly account: number
}): EventFact {
  const { block, index } = input
  const timestamp = (block % 3) * DAY_SECONDS + block
  const place = { chainId: 1, blockNumber: block, txIndex: 0, logIndex: index, timestamp }
  return {
    log: { ...place, blockHash: '0x1', txHash: '0x2' },
    kind: 'claim',
    token: TOKENS[input.token] ?? '',
    account: `0x${input.account}`,
    amount: 5n,
    detail: null,
    counted: true,
  }
}

async function store(tx: Connection, facts: readonly EventFact[]): Promise<void> {
  await storeValued(tx, { dataset: DATASET, facts, values: facts.map(() => null) })
}

function changeOf(connection: Connection) {
  return { connection, chainId: 1, finalizedNumber: -1, prices: openPriceBook([]) }
}

async function countOf(tx: Connection): Promise<number> {
  const [row] = await tx.run(sql`
    select accounts from event_account_counts where dataset = ${DATASET}`)
  return Number(row?.accounts ?? 0)
}

async function rowsOf(tx: Connection): Promise<readonly string[]> {
  const found = await tx.run(sql`
    select token, account, amount, events, first_unix, last_unix from event_account_sums
    order by token, account`)
  return found.map((row) =>
    [
      row.token,
      row.account,
      fromStored(row.amount),
      row.events,
      row.first_unix,
      row.last_unix,
    ].join(' '),
  )
}

function expectedRows(facts: readonly EventFact[]): readonly string[] {
  const keys = new Set(facts.map(({ token, account }) => `${token} ${account}`))
  return [...keys].sort().map((key) => {
    const mine = facts.filter(({ token, account }) => `${token} ${account}` === key)
    const times = mine.map(({ log }) => log.timestamp)
    const amount = mine.reduce((sum, each) => sum + each.amount, 0n)
    return [key, amount, mine.length, Math.min(...times), Math.max(...times)].join(' ')
  })
}
