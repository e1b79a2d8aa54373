import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { BlockClock, dateLogs } from './block-clock.ts'
import type { ChainSource, SourceLog } from './chain-source.ts'

const DAY = 86_400

/** A chain whose block times are given; counts the headers that are asked for. */
function chainOf(times: readonly number[]) {
  const asked: number[] = []
  const header: ChainSource['header'] = async (block) => {
    const timestamp = times[Number(block)]
    if (timestamp === undefined) return undefined
    asked.push(Number(block))
    const hash = `0x${'00'.repeat(32)}` as const
    const logsBloom = '0x' as const
    return { number: Number(block), hash, parentHash: hash, timestamp, logsBloom }
  }
  return { clock: new BlockClock({ header }), asked }
}

/** Times that never fall: even, in bursts, with days of silence. */
const times = fc
  .array(fc.constantFrom(0, 1, 2, 12, 3_600, 40_000, 200_000), { minLength: 2, maxLength: 400 })
  .map((steps) => {
    let unix = 1_700_000_000
    return steps.map((step) => (unix += step))
  })

describe('logs of a node that tells no times', () => {
  test('get the right UTC day, later the right hour, and the exact second where it is wanted', async () => {
    await fc.assert(
      fc.asyncProperty(times, fc.nat(5), fc.nat(1_000), async (list, every, share) => {
        const { clock } = chainOf(list)
        const isExact = (index: number) => index % (every + 1) === 0
        const exact = ({ blockNumber }: SourceLog) => isExact(blockNumber)
        const [first = 0, last = 0] = [list[0], list.at(-1)]
        const hoursFromUnix = first + Math.floor(((last - first) * share) / 900)
        const logs = undated(list.length)
        const dated = await dateLogs(clock, { logs, exact, hoursFromUnix })
        for (const [index, time] of list.entries()) {
          const given = dated[index]?.timestamp ?? 0
          assert.equal(Math.floor(given / DAY), Math.floor(time / DAY), `day of log ${index}`)
          assert.equal(given >= hoursFromUnix, time >= hoursFromUnix)
          if (time >= hoursFromUnix)
            assert.equal(
              Math.floor(given / 3_600),
              Math.floor(time / 3_600),
              `hour of log ${index}`,
            )
          if (isExact(index)) assert.equal(given, time, `second of log ${index}`)
        }
      }),
    )
  })

  test('cost a few headers a day or hour, not one a block', async () => {
    const blocksPerDay = 7_200
    const count = 10 * blocksPerDay
    const list = Array.from({ length: count }, (_, index) => 1_700_000_000 + index * 12)
    const { clock, asked } = chainOf(list)
    await dateLogs(clock, {
      ...{ logs: undated(count), exact: () => false },
      hoursFromUnix: (list[0] ?? 0) + 8 * DAY,
    })
    assert.ok(asked.length <= (10 + 2 * 24) * 6, `${asked.length} headers`)
  })
})

test('times that fall are refused', async () => {
  const { clock } = chainOf([100, 200, 50, 300, 90])
  const input = { logs: undated(5), exact: () => false, hoursFromUnix: 0 }
  await assert.rejects(dateLogs(clock, input), /is older than one before it/)
})

/** One log in each block, none with a time. */
function undated(count: number): readonly SourceLog[] {
  const hash = `0x${'00'.repeat(32)}` as const
  const place = { chainId: 1, blockHash: hash, txHash: hash, txIndex: 0, logIndex: 0 }
  const log = { ...place, address: hash, topics: [], data: hash, timestamp: null }
  return Array.from({ length: count }, (_, blockNumber) => ({ ...log, blockNumber }))
}
