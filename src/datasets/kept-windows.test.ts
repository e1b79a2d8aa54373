import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { EventFact } from '#indexer/events/event.ts'
import { forgetEvents, revertEvents, storeEvents } from '#indexer/events/store-events.ts'
import { sumWindows, type WindowSums, windowOf } from '#indexer/events/sum-windows.ts'
import { forgetPosition, storeBlocks } from '#indexer/positions.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { onSqlite } from '#ledger/each-engine.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '#lib/day.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { registerMigrations } from './datasets.ts'
import { KeptWindows, TOTAL_WINDOWS } from './kept-windows.ts'

/** Some in every run of the tests; `RANDOM_RUNS=500` for a long search. A failure tells its seed. */
const runs = Number(process.env.RANDOM_RUNS ?? 20)

const DATASET = { name: 'burns', byAccount: true }
const BEGIN_UNIX = 1_700_003_456
const BLOCK_SECONDS = 60

/** Reorgs end above it; no whole hours, so that a day is settled in the midst of one. */
const ANCHOR_SECONDS = 5_000

const blockAt = (unix: number) => Math.floor(unix / BLOCK_SECONDS) - 28_000_000

/** A register of one chain whose newest block is of `nowUnix`; `salt` tells branches apart. */
interface Life {
  readonly engine: Engine
  nowUnix: number
  salt: number
  timesForgotten: number
}

const change = (connection: Connection) => ({
  connection,
  chainId: 8453,
  finalizedNumber: 0,
  isOlder: false,
  valuesOf: async (amounts: readonly unknown[]) => amounts.map(() => undefined),
  priceMoved: () => undefined,
})

function factAt(life: Life, timestamp: number): EventFact {
  life.salt += 1
  const hash = `0x${life.salt.toString(16).padStart(64, '0')}` as const
  const log = {
    chainId: 8453,
    blockNumber: blockAt(timestamp),
    blockHash: hash,
    txHash: hash,
    logIndex: life.salt,
    timestamp,
  }
  const token = life.salt % 3 === 0 ? 'CRYPT' : 'GRAVE'
  const amount = BigInt(life.salt)
  return { log, kind: 'burn', token, account: null, amount, detail: null, counted: true }
}

/** An event every so many seconds from one moment to the next. */
async function store(
  life: Life,
  { fromUnix, everySeconds }: { readonly fromUnix: number; readonly everySeconds: number },
): Promise<void> {
  const facts: EventFact[] = []
  for (let at = fromUnix; at <= life.nowUnix; at += everySeconds) facts.push(factAt(life, at))
  await life.engine.write((connection) => storeEvents(change(connection), DATASET, facts))
}

async function moveBlocks({ engine, nowUnix, salt }: Life): Promise<void> {
  await engine.write(async (connection) => {
    await forgetPosition(connection, 8453)
    const hash = `0x${salt}` as const
    const header = { hash, parentHash: hash, logsBloom: hash }
    const blocks = [nowUnix - ANCHOR_SECONDS, nowUnix]
    await storeBlocks(
      connection,
      8453,
      blocks.map((timestamp) => ({ ...header, number: blockAt(timestamp), timestamp })),
    )
  })
}

function statusOf({ nowUnix, salt, timesForgotten }: Life): IndexStatus {
  const [chain] = localEcosystemAt({}).chains
  assert.ok(chain !== undefined)
  const numbers = { blockNumber: 0, headNumber: 0, safeNumber: 0, finalizedNumber: 0 }
  const status = { chain, blockHash: '0x', blockTimeUnix: nowUnix, backfill: null, stall: null }
  return {
    chains: [{ ...status, ...numbers, timesForgotten }],
    unread: [],
    otherParts: [],
    asOfUnix: nowUnix,
    revision: `${nowUnix} ${salt}`,
  }
}

const inOrder = (sums: WindowSums) =>
  sums.map((each) => each.toSorted((a, b) => (a.token < b.token ? -1 : 1)))

/** Without the last 24 hours more than the newest day may be unsettled. */
const LENGTHS = [TOTAL_WINDOWS, TOTAL_WINDOWS.slice(1)]

async function compare(life: Life, keepers: readonly KeptWindows[]): Promise<void> {
  await moveBlocks(life)
  for (const [index, lengths] of LENGTHS.entries())
    await compareOne(life, { lengths, kept: keepers[index] })
}

async function compareOne(
  life: Life,
  {
    lengths,
    kept,
  }: { readonly lengths: readonly number[]; readonly kept: KeptWindows | undefined },
): Promise<void> {
  assert.ok(kept !== undefined)
  await life.engine.snapshot(async (connection) => {
    const windows = lengths.map((seconds) => windowOf(life.nowUnix, seconds))
    const fresh = await sumWindows(connection, { dataset: DATASET.name, windows })
    const status = statusOf(life)
    for (let again = 0; again < 2; again += 1)
      assert.deepEqual(inOrder(await kept.sums(connection, status)), inOrder(fresh))
  })
}

const everySeconds = fc.integer({ min: 300, max: 20_000 })
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('grow'),
      seconds: fc.oneof(fc.nat(HOUR_SECONDS), fc.nat(2 * DAY_SECONDS)),
      everySeconds,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fork'),
      seconds: fc.nat(ANCHOR_SECONDS - BLOCK_SECONDS),
      everySeconds,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('forget'), seconds: fc.nat(), everySeconds }),
  },
)

async function take(
  life: Life,
  { do: deed, seconds, everySeconds }: typeof step extends fc.Arbitrary<infer Step> ? Step : never,
): Promise<void> {
  const before = life.nowUnix
  if (deed === 'grow') {
    life.nowUnix += seconds
    await store(life, { fromUnix: before + 1, everySeconds })
  } else if (deed === 'fork') {
    const number = blockAt(before - seconds)
    await life.engine.write((connection) =>
      revertEvents(change(connection), DATASET, { number, hash: '0x', timestamp: 0 }),
    )
    const fromUnix = (number + 1 + 28_000_000) * BLOCK_SECONDS
    await store(life, { fromUnix, everySeconds: Math.ceil(everySeconds / 10) })
  } else {
    life.timesForgotten += 1
    await life.engine.write((connection) => forgetEvents(change(connection), DATASET))
    await store(life, { fromUnix: before - 35 * DAY_SECONDS, everySeconds: everySeconds + 5_000 })
  }
}

test('kept sums of windows are what would be read, while blocks come and go and a chain is read anew', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) =>
      onSqlite(registerMigrations, async ({ engine }) => {
        const life = { engine, nowUnix: BEGIN_UNIX, salt: 0, timesForgotten: 0 }
        const kept = LENGTHS.map((lengths) => new KeptWindows(DATASET.name, lengths))
        await store(life, { fromUnix: BEGIN_UNIX - 35 * DAY_SECONDS, everySeconds: 9_000 })
        await compare(life, kept)
        for (const each of steps) {
          await take(life, each)
          await compare(life, kept)
        }
      }),
    ),
    { numRuns: runs },
  ))

test('while windows begin in the same hours, settled hours and days are not read again', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const noon = Math.ceil(BEGIN_UNIX / DAY_SECONDS) * DAY_SECONDS + DAY_SECONDS / 2
    const life = { engine, nowUnix: noon + 10, salt: 0, timesForgotten: 0 }
    const kept = new KeptWindows(DATASET.name, TOTAL_WINDOWS)
    await store(life, { fromUnix: noon - 35 * DAY_SECONDS, everySeconds: 9_000 })
    const rows = async () => {
      let count = 0
      await moveBlocks(life)
      await engine.snapshot((connection) =>
        kept.sums(
          {
            ...connection,
            async run(statement) {
              const found = await connection.run(statement)
              count += found.length
              return found
            },
          },
          statusOf(life),
        ),
      )
      return count
    }
    const first = await rows()
    assert.equal(await rows(), 0)
    life.nowUnix += 600
    const second = await rows()
    assert.ok(first > 60 && second < 10, `${first} rows, then ${second}`)
    life.nowUnix += HOUR_SECONDS
    assert.ok((await rows()) > 60)
  }))
