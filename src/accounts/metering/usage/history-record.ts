import { Type } from 'typebox'
import { toUsd } from '#domain/money.ts'
import { named } from '#lib/schema.ts'
import { toDate } from '#lib/time.ts'
import type { Charged, HistoryDay } from './read-history.ts'

const CHARGED = {
  requestCount: Type.Integer({ description: 'Charged calls, paid ones included.' }),
  overageCount: Type.Integer({ description: 'The paid part of requestCount.' }),
  spentUsd: Type.Number({ description: 'What the paid calls took from prepaid balances.' }),
}

const KeyUse = named('KeyUsage', {
  publicId: Type.Union([Type.String(), Type.Null()], {
    description:
      'Null: keys beyond the newest 100, and calls of a time when keys were not told apart.',
  }),
  ...CHARGED,
})

const DAY = {
  date: Type.String({ description: '`YYYY-MM-DD`, a UTC day.' }),
  dateUnix: Type.Integer(),
}

const Day = named('UsageDay', {
  ...DAY,
  ...CHARGED,
  complete: Type.Boolean({ description: 'False for today.' }),
  keys: Type.Array(KeyUse, { description: 'Keys of the wallet that called, most calls first.' }),
})

export const History = named('UsageHistory', {
  identity: Type.String({ description: '`key:<prefix>_<publicId>`, or `ip:<address bucket>`.' }),
  days: Type.Integer(),
  totals: named('UsageTotals', CHARGED),
  history: Type.Array(Day, { description: 'Without gaps, oldest first, today last.' }),
})

export const CsvRow = Type.Object({ ...DAY, ...KeyUse.properties, complete: Type.Boolean() })

/** Takes the oldest day first. */
export function showHistory(identity: string, history: readonly HistoryDay[]) {
  return {
    identity,
    days: history.length,
    totals: showCharged(sumOf(history)),
    history: history.map((day) => ({
      ...showDay(day),
      ...showCharged(day),
      complete: day !== history.at(-1),
      keys: day.keys.map((key) => ({ publicId: key.publicId, ...showCharged(key) })),
    })),
  }
}

export function toCsvRows(history: readonly HistoryDay[]) {
  return history.flatMap((day) => {
    const complete = day !== history.at(-1)
    const parts = day.keys.length === 0 ? [{ ...day, publicId: null }] : day.keys
    return parts.map((part) => ({
      ...showDay(day),
      publicId: part.publicId,
      ...showCharged(part),
      complete,
    }))
  })
}

function showDay({ day }: HistoryDay) {
  return { date: toDate(day), dateUnix: day }
}

function showCharged({ calls, paid, spent }: Charged) {
  return { requestCount: calls, overageCount: paid, spentUsd: toUsd(spent) }
}

function sumOf(history: readonly Charged[]): Charged {
  const sum = { calls: 0, paid: 0, spent: 0n }
  for (const { calls, paid, spent } of history) {
    sum.calls += calls
    sum.paid += paid
    sum.spent += spent
  }
  return sum
}
