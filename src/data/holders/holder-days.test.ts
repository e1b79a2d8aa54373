import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type HolderDay, replaceDays, toSpans, turningDays } from './fold-holders.ts'

test('a wallet that leaves one chain and stays on another remains one holder', () => {
  const days: HolderDay[] = [
    { chainId: 1, dayUnix: 1, holds: true },
    { chainId: 2, dayUnix: 2, holds: true },
    { chainId: 1, dayUnix: 3, holds: false },
    { chainId: 2, dayUnix: 5, holds: false },
  ]
  assert.deepEqual(
    [...turningDays(days)],
    [
      [1, 1],
      [5, -1],
    ],
  )
})

test('moving all from one chain to the other within a day is no turn', () => {
  const days: HolderDay[] = [
    { chainId: 1, dayUnix: 1, holds: true },
    { chainId: 1, dayUnix: 4, holds: false },
    { chainId: 2, dayUnix: 4, holds: true },
  ]
  assert.deepEqual([...turningDays(days)], [[1, 1]])
})

const ends = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 })

test('turning days add up to the days on which any chain holds', () => {
  fc.assert(
    fc.property(ends, ends, (first, second) => {
      const list = (holds: readonly boolean[]) =>
        holds.map((each, index) => ({ dayUnix: index, holds: each }))
      const days = replaceDays(replaceDays([], 1, 0, list(first)), 2, 0, list(second))
      const turns = turningDays(days)
      let holders = 0
      for (let day = 0; day < 12; day += 1) {
        holders += turns.get(day) ?? 0
        const holds = (list: readonly boolean[]) => list[Math.min(day, list.length - 1)] ?? false
        assert.equal(holders, Number(holds(first) || holds(second)))
      }
    }),
  )
})

test('replacing the days from one on gives what all days at once give', () => {
  fc.assert(
    fc.property(ends, ends, fc.nat(11), (old, late, at) => {
      const fromDay = Math.min(at, old.length)
      const list = (holds: readonly boolean[], start: number) =>
        holds.map((each, index) => ({ dayUnix: start + index, holds: each }))
      const inSteps = replaceDays(
        replaceDays([], 1, 0, list(old, 0)),
        1,
        fromDay,
        list(late, fromDay),
      )
      const atOnce = replaceDays([], 1, 0, list([...old.slice(0, fromDay), ...late], 0))
      assert.deepEqual(inSteps, atOnce)
    }),
  )
})

test('times that ended and the one that goes on are all that the turning days tell', () => {
  fc.assert(
    fc.property(ends, ends, (first, second) => {
      const list = (holds: readonly boolean[]) =>
        holds.map((each, index) => ({ dayUnix: index, holds: each }))
      const days = replaceDays(replaceDays([], 1, 0, list(first)), 2, 0, list(second))
      for (const chainId of [1, 2]) {
        const { ended, sinceUnix } = toSpans(days, chainId)
        const told = ended.flatMap(({ fromUnix, untilUnix }) => [
          { chainId, dayUnix: fromUnix, holds: true },
          { chainId, dayUnix: untilUnix, holds: false },
        ])
        if (sinceUnix !== undefined) told.push({ chainId, dayUnix: sinceUnix, holds: true })
        assert.deepEqual(
          told,
          days.filter((day) => day.chainId === chainId),
        )
      }
    }),
  )
})
