import assert from 'node:assert/strict'
import fc from 'fast-check'
import { toPlace } from '#base/chain.ts'
import { registerMigrations } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { storeEvents } from './event-dataset.ts'
import { type EventKey, type EventQuery, type ListedEvent, listEvents } from './list-events.ts'
import type { EventFact } from './sums.ts'

const DATASET = 'dividends'
const CHAIN_IDS = [10, 8453, 1]

const EVENTS_MAX = 120

const addressOf = (index: number) => `0x${String(index).padStart(40, '0')}` as const

/** Few moments, so that many events share one. */
const fact = fc
  .record({
    chainId: fc.constantFrom(...CHAIN_IDS),
    blockNumber: fc.nat(9),
    txIndex: fc.nat(2),
    logIndex: fc.nat(4),
    timestamp: fc.nat(6),
    kind: fc.constantFrom('claim', 'distribution'),
    token: fc.constantFrom('USDC', 'WETH'),
    account: fc.option(fc.constantFrom(addressOf(1), addressOf(2))),
  })
  .map(({ kind, token, account, ...place }): EventFact => {
    const log = { ...place, blockHash: '0x01' as const, txHash: '0x02' as const }
    return { log, kind, token, account, amount: 1n, detail: null, counted: true }
  })

const facts = fc.uniqueArray(fact, {
  minLength: 60,
  maxLength: EVENTS_MAX,
  selector: ({ log }) => [log.chainId, log.blockNumber, toPlace(log)].join(),
})

type Filters = Partial<Omit<EventQuery, 'dataset' | 'limit' | 'chainIds' | 'after'>>

const FILTERS: readonly fc.Arbitrary<Filters>[] = [
  fc.record({ chainId: fc.constantFrom(...CHAIN_IDS) }),
  fc.record({ token: fc.constantFrom('USDC', 'WETH', 'GRAVE') }),
  fc.record({ account: fc.constantFrom(addressOf(1), addressOf(2)) }),
  fc.record({ kind: fc.constantFrom('claim', 'distribution') }),
  fc.record({ fromUnix: fc.nat(6) }),
  fc.record({ toUnix: fc.nat(6) }),
]

/** Few at a time, so that pages follow each other. */
const filters = fc
  .subarray([...FILTERS], { maxLength: 2 })
  .chain((chosen) => fc.tuple(...chosen))
  .map((parts): Filters => Object.assign({}, ...parts))

function wanted(all: readonly EventFact[], only: Filters): readonly string[] {
  return all
    .filter(
      ({ log, token, account, kind }) =>
        (only.chainId ?? log.chainId) === log.chainId &&
        (only.token ?? token) === token &&
        (only.account ?? account) === account &&
        (only.kind ?? kind) === kind &&
        (only.fromUnix ?? log.timestamp) <= log.timestamp &&
        (only.toUnix ?? log.timestamp) >= log.timestamp,
    )
    .map(({ log }) => log)
    .toSorted(
      (one, other) =>
        other.timestamp - one.timestamp ||
        other.chainId - one.chainId ||
        other.blockNumber - one.blockNumber ||
        toPlace(other) - toPlace(one),
    )
    .map((log) => nameOf({ ...log, place: toPlace(log) }))
}

const nameOf = ({ chainId, blockNumber, place }: Omit<EventKey, 'timestamp'>) =>
  [chainId, blockNumber, place].join()

/** Returns the rows of all pages, one after the other. */
async function listAll(connection: Connection, query: EventQuery): Promise<readonly ListedEvent[]> {
  const listed: ListedEvent[] = []
  let after: EventKey | null | undefined
  while (after !== null) {
    const page = await listEvents(connection, { ...query, ...(after && { after }) })
    assert.ok(page.next === null || page.events.length === query.limit)
    listed.push(...page.events)
    assert.ok(listed.length <= EVENTS_MAX, 'the pages come to an end')
    after = page.next
  }
  return listed
}

const onBoth = eachEngine(startPostgres, registerMigrations)

onBoth('a list has every event that its filters ask for once, newest first', async ({ engine }) => {
  const questions = fc.array(fc.record({ filters, limit: fc.integer({ min: 1, max: 10 }) }), {
    minLength: 20,
    maxLength: 20,
  })
  await fc.assert(
    fc.asyncProperty(facts, questions, async (all, asked) => {
      await engine.write(async (connection) => {
        await connection.run(sql`delete from events`)
        const change = {
          ...{ connection, chainId: 1, finalizedNumber: 0 },
          prices: openPriceBook([]),
        }
        await storeEvents(change, DATASET, all)
      })
      for (const question of asked) {
        const query = { dataset: DATASET, chainIds: CHAIN_IDS, limit: question.limit }
        const listed = await engine.snapshot((connection) =>
          listAll(connection, { ...query, ...question.filters }),
        )
        assert.deepEqual(listed.map(nameOf), wanted(all, question.filters))
      }
    }),
    { numRuns: 12 },
  )
})

onBoth('the list of a token is read across any number of chains', async ({ engine }) => {
  const chainIds = Array.from({ length: 1_200 }, (_, index) => index + 1)
  await engine.write((connection) =>
    storeEvents(
      {
        ...{ connection, chainId: 1, finalizedNumber: 0 },
        prices: openPriceBook([]),
      },
      DATASET,
      chainIds.map((chainId): EventFact => {
        const log = { chainId, blockNumber: 1, txIndex: 0, logIndex: 1, timestamp: chainId }
        const hashes = { blockHash: '0x01', txHash: '0x02' } as const
        return {
          ...{ log: { ...log, ...hashes }, kind: 'claim', token: 'GRAVE', account: null },
          ...{ amount: 1n, detail: null, counted: true },
        }
      }),
    ),
  )
  const query = { dataset: DATASET, chainIds, limit: 100, token: 'GRAVE' }
  const { events } = await engine.snapshot((reads) => listEvents(reads, query))
  assert.deepEqual(
    events.map(({ chainId }) => chainId),
    chainIds.slice(-100).toReversed(),
  )
})
