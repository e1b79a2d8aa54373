import assert from 'node:assert/strict'
import fc from 'fast-check'
import { DAY_SECONDS } from '#base/time.ts'
import { registerMigrations } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { storeEvents } from './event-dataset.ts'
import { type EventFact, sumWindows } from './sums.ts'

const TOKENS = ['GRAVE', 'BONE']

const asOfUnix = 1_700_003_456

/** Moments that lie at and about the edges of hours, days and windows. */
const moment = fc.oneof(
  fc.integer({ min: asOfUnix - 40 * DAY_SECONDS, max: asOfUnix }),
  fc
    .tuple(fc.constantFrom(1, 7, 30), fc.integer({ min: -3, max: 3 }))
    .map(([days, off]) => asOfUnix - days * DAY_SECONDS + off),
  fc
    .tuple(fc.nat(900), fc.integer({ min: -1, max: 1 }))
    .map(([hours, off]) => 1_700_002_800 - hours * 3_600 + off),
)

function factAt(timestamp: number, index: number): EventFact {
  const hash = `0x${index.toString(16).padStart(64, '0')}` as const
  const log = {
    chainId: 1,
    blockNumber: index,
    blockHash: hash,
    txHash: hash,
    txIndex: 0,
    logIndex: 0,
    timestamp,
  }
  const amount = BigInt(index + 1)
  const token = TOKENS[index % 2] ?? ''
  return { log, kind: 'burn', token, account: null, amount, detail: null, counted: true }
}

const onEach = eachEngine(startPostgres, registerMigrations)

onEach('a window is exact to the second: what a sum over all events gives', async ({ engine }) => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(moment, { maxLength: 40 }), async (moments) => {
      runs += 1
      const dataset = `burns ${runs}`
      const facts = moments.map(factAt)
      await engine.write((connection) =>
        storeEvents(
          {
            connection,
            chainId: 1,
            finalizedNumber: 0,
            prices: openPriceBook([]),
          },
          dataset,
          facts,
        ),
      )
      const lengths = [1, 7, 30].map((days) => days * DAY_SECONDS)
      const windows = await engine.snapshot((reads) => sumWindows(reads, { dataset, asOfUnix }))
      for (const [place, seconds] of lengths.entries()) {
        const within = facts.filter(({ log }) => log.timestamp > asOfUnix - seconds)
        const all = windows[place] ?? []
        for (const token of TOKENS) {
          const [sums] = all.filter((each) => each.token === token)
          const own = within.filter((each) => each.token === token)
          assert.equal(sums?.events ?? 0, own.length)
          assert.equal(
            sums?.amount ?? 0n,
            own.reduce((sum, each) => sum + each.amount, 0n),
          )
        }
      }
    }),
    { numRuns: 25 },
  )
})
