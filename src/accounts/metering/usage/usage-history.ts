import { Type } from 'typebox'
import { MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { toUsd } from '#base/money.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { toDate, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { StoreError } from '#db/engine.ts'
import {
  answer,
  CSV_TYPE,
  defineRoute,
  formatParameter,
  type Parameter,
  parsed,
  parseInteger,
  type Route,
  toCsv,
  wantsCsv,
} from '#route.ts'
import { type Charged, type HistoryDay, type HistoryInput, readHistory } from './read-history.ts'

const DAYS = { minimum: 1, maximum: 90 }

const ANONYMOUS_DAYS_MAX = 30

const daysParameter: Parameter<number> = {
  in: 'query',
  description: `UTC days that end with today; without a key at most ${ANONYMOUS_DAYS_MAX}.`,
  schema: Type.Integer({ ...DAYS, default: 30 }),
  example: 7,
  parse: (raw) => (raw === undefined ? parsed(30, 30) : parseInteger(raw, DAYS)),
}

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

const History = named('UsageHistory', {
  identity: Type.String({ description: '`key:<prefix>_<publicId>`, or `ip:<address bucket>`.' }),
  days: Type.Integer(),
  totals: named('UsageTotals', CHARGED),
  history: Type.Array(Day, { description: 'Without gaps, oldest first, today last.' }),
})

const CsvRow = Type.Object({ ...DAY, ...KeyUse.properties, complete: Type.Boolean() })

/** Neither counts as a call nor answers 402. */
export function usageHistoryRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/usage/history',
    operationId: 'getUsageHistory',
    tag: 'Usage',
    summary: 'Your calls of the last days',
    description:
      'By UTC day: calls, paid calls and money spent of all keys of the wallet behind the key in the Authorization header, each key by itself too. Without a key it covers the address you call from. As CSV there is one row for each day and key. Asking is free.',
    metered: false,
    csv: true,
    parameters: { days: daysParameter, format: formatParameter },
    answers: { 200: { description: 'The days as they stand.', schema: History } },
    refusals: ['metering_unavailable'],
    async handle(input) {
      const { caller } = input
      const { days, format } = input.parameters
      if (caller.kind === 'anonymous' && days > ANONYMOUS_DAYS_MAX) return refuseDays()
      const history = await readUsage(ctx, { caller, days, nowUnix: unixNow(ctx.clock) })
      if (!wantsCsv(input, format)) return answer(200, showHistory(caller.identity, history))
      const csv = toCsv(CsvRow, toCsvRows(history))
      return answer(200, csv, { contentType: CSV_TYPE })
    },
  })
}

function refuseDays(): Refusal {
  const reason = `must be at most ${ANONYMOUS_DAYS_MAX} without a key`
  return refuse('invalid_parameter', `days ${reason}`, {
    errors: [{ in: 'query', name: 'days', reason, ...DAYS, maximum: ANONYMOUS_DAYS_MAX }],
  })
}

async function readUsage({ accounts }: Context, input: HistoryInput) {
  try {
    return await accounts.snapshot((connection) => readHistory(connection, input))
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new MeteringUnavailable('cannot read calls from the accounts store', { cause })
  }
}

/** Expects the oldest day first. */
function showHistory(identity: string, history: readonly HistoryDay[]) {
  return {
    identity,
    days: history.length,
    totals: showCharged(sumHistory(history)),
    history: history.map((day) => ({
      ...showDay(day),
      ...showCharged(day),
      complete: day !== history.at(-1),
      keys: day.keys.map((key) => ({ publicId: key.publicId, ...showCharged(key) })),
    })),
  }
}

function toCsvRows(history: readonly HistoryDay[]) {
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

function sumHistory(history: readonly Charged[]): Charged {
  const sum = { calls: 0, paid: 0, spent: 0n }
  for (const { calls, paid, spent } of history) {
    sum.calls += calls
    sum.paid += paid
    sum.spent += spent
  }
  return sum
}
