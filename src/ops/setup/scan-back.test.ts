import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SourceLog } from '#chain/chain-source.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import { scanBack } from './list-events.ts'

const filter = { addresses: null, topics: [] }
const logAt = (blockNumber: number) => ({ blockNumber }) as SourceLog

function nodeOf(blocksMax: number) {
  return {
    source: {
      async logsInRange(_filter: unknown, from: number, to: number) {
        if (to - from + 1 > blocksMax)
          throw new EndpointError('refused', `range limit ${blocksMax}`)
        return Array.from({ length: to - from + 1 }, (_, index) => logAt(from + index)).filter(
          ({ blockNumber }) => blockNumber % 1_000 === 0,
        )
      },
    },
  }
}

test('a node that refuses large ranges in unknown words is asked for smaller ones, and nothing is missed', async () => {
  const { source } = nodeOf(700)
  const scan = { filter, from: 0, to: 20_500, enough: Number.POSITIVE_INFINITY, untilMs: 1 }
  const { logs, from } = await scanBack({ source, clock: () => 0 }, scan)
  assert.deepEqual(
    logs.map(({ blockNumber }) => blockNumber),
    Array.from({ length: 21 }, (_, index) => index * 1_000),
  )
  assert.equal(from, 0)
})

test('a scan ends with the newest logs once there are enough, or once its time is up', async () => {
  const { source } = nodeOf(5_000)
  const scan = { filter, from: 0, to: 1_000_000, enough: 3, untilMs: 100 }
  const enough = await scanBack({ source, clock: () => 0 }, scan)
  assert.equal(enough.logs.at(-1)?.blockNumber, 1_000_000)
  assert.ok(enough.logs.length >= 3 && enough.from > 900_000)
  let now = 0
  const clock = () => {
    now += 30
    return now
  }
  const late = await scanBack({ source, clock }, { ...scan, enough: Number.POSITIVE_INFINITY })
  assert.ok(late.from > 900_000, String(late.from))
})
