import { Type } from 'typebox'
import { keyAccount } from '#accounts/ledger/ledger.ts'
import { getMeter, orUnavailable, toAccount } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { toUsd } from '#base/money.ts'
import { refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { tiers } from '#base/tier.ts'
import { lastDays, startOfDay, toDate, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, type Sql, sql } from '#db/sql.ts'
import type { Retained } from '#index/retained.ts'
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

const Usage = named('Usage', {
  identity: Type.String({ description: '`key:<prefix>_<publicId>`, or `ip:<address bucket>`.' }),
  tier: Type.Enum(tiers.map(({ name }) => name)),
  requestCount: Type.Integer({
    description: 'Charged calls of the UTC day, paid ones included.',
  }),
  dailyQuota: Type.Integer(),
  remaining: Type.Integer({ description: 'Free calls left of the day.' }),
  overageCount: Type.Integer({ description: 'The paid part of requestCount.' }),
  prepaidBalanceUsd: Type.Number(),
  resetUnix: Type.Integer({ description: 'Unix seconds of the next reset, 00:00 UTC.' }),
})

export function usageRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/usage',
    operationId: 'getUsage',
    tag: 'Usage',
    summary: 'Your calls of today',
    description:
      'The figures of the key in the Authorization header, else of the address you call from. Asking is free.',
    metered: false,
    parameters: {},
    answers: { 200: { description: 'The figures as they stand.', schema: Usage } },
    refusals: ['metering_unavailable'],
    async handle({ caller }) {
      const rateLimit = await getMeter(ctx).rateLimit(caller)
      const { tier, requestCount, dailyQuota, remaining, overageCount, resetUnix } = rateLimit
      const body = {
        identity: caller.identity,
        tier,
        requestCount,
        dailyQuota,
        remaining,
        overageCount,
        prepaidBalanceUsd: toUsd(rateLimit.prepaidBalance),
        resetUnix,
      }
      return answer(200, body, { rateLimit })
    },
  })
}

/** Small on SQLite, where deletion runs on the serving thread; on PostgreSQL each page costs a commit. */
export const ROWS_PER_PAGE = { sqlite: 50, postgres: 1_000 }

/** Anonymous callers leave a row each, so keep only enough for questions about last month. */
const KEEP_ADDRESS_DAYS = 35

const KEEP_WALLET_DAYS = 100

/** Deletes call counters, except days with paid calls, which the audit needs. Wallets go before their keys. */
export const RETAINED_USAGE: readonly Retained[] = [
  ofDays(KEEP_ADDRESS_DAYS, {
    table: sql`usage_days`,
    key: sql`bucket`,
    isOver: sql`paid = 0 and bucket not like 'wallet:%'`,
  }),
  ofDays(KEEP_WALLET_DAYS, {
    table: sql`usage_days`,
    key: sql`bucket`,
    isOver: sql`paid = 0`,
  }),
  ofDays(KEEP_WALLET_DAYS, {
    table: sql`key_days`,
    key: sql`public_id`,
    isOver: sql`not exists (
      select 1 from usage_days where usage_days.day = key_days.day
        and usage_days.bucket =
          (select 'wallet:' || wallet from keys where keys.public_id = key_days.public_id))`,
  }),
]

function ofDays(
  keepDays: number,
  { table, key, isOver }: Readonly<Record<'table' | 'key' | 'isOver', Sql>>,
): Retained {
  return {
    keepDays,
    atOnce: ROWS_PER_PAGE,
    async deletePage(connection, { beforeUnix, limit, place }) {
      const before = startOfDay(beforeUnix)
      if (place.day >= before) return { place, isDone: true }
      const after = sql`(day, ${key}) > (${place.day}, ${place.key})`
      const [row] = await connection.run(sql`
        select day, ${key} as last_key from ${table} where ${after} and day < ${before}
        order by day, ${key} limit 1 offset ${limit - 1}`)
      const end =
        row === undefined
          ? { day: before, key: '' }
          : { day: column.integer(row, 'day'), key: column.text(row, 'last_key') }
      // Uses a single upper bound: given two, SQLite scans every old row.
      await connection.run(sql`
        delete from ${table} where ${after} and (day, ${key}) <= (${end.day}, ${end.key})
          and ${isOver}`)
      return { place: end, isDone: row === undefined }
    },
  }
}

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
    description: 'Null: keys beyond the newest 100.',
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
      if (caller.kind === 'anonymous' && days > ANONYMOUS_DAYS_MAX) {
        const reason = `must be at most ${ANONYMOUS_DAYS_MAX} without a key`
        return refuse('invalid_parameter', `days ${reason}`, {
          errors: [{ in: 'query', name: 'days', reason, ...DAYS, maximum: ANONYMOUS_DAYS_MAX }],
        })
      }
      const listed = lastDays(unixNow(ctx.clock), days)
      const history = await orUnavailable(() =>
        ctx.accounts.snapshot((reads) => readHistory(reads, caller, listed)),
      )
      if (!wantsCsv(input, format)) return answer(200, showHistory(caller.identity, history))
      const csv = toCsv(CsvRow, toCsvRows(history))
      return answer(200, csv, { contentType: CSV_TYPE })
    },
  })
}

function showHistory(identity: string, history: readonly HistoryDay[]) {
  return {
    identity,
    days: history.length,
    totals: showCharged(sumCharged(history.map(({ charged }) => charged))),
    history: history.map(({ charged, complete, keys, ...day }) => ({
      ...day,
      ...showCharged(charged),
      complete,
      keys: keys.map(showKey),
    })),
  }
}

function toCsvRows(history: readonly HistoryDay[]) {
  return history.flatMap(({ charged, complete, keys, ...day }) => {
    const parts = keys.length === 0 ? [{ ...charged, publicId: null }] : keys
    return parts.map((part) => ({ ...day, ...showKey(part), complete }))
  })
}

function showKey({ publicId, ...charged }: KeyCharged) {
  return { publicId, ...showCharged(charged) }
}

function showCharged({ calls, paid, spent }: Charged) {
  return { requestCount: calls, overageCount: paid, spentUsd: toUsd(spent) }
}

function sumCharged(parts: readonly Charged[]): Charged {
  const sum = { calls: 0, paid: 0, spent: 0n }
  for (const { calls, paid, spent } of parts) {
    sum.calls += calls
    sum.paid += paid
    sum.spent += spent
  }
  return sum
}

/** Its `publicId` is null for keys beyond the limit, and without a key. */
type KeyCharged = ReturnType<typeof toKeyCharged>

type Charged = Omit<KeyCharged, 'publicId'>

type HistoryDay = Awaited<ReturnType<typeof readHistory>>[number]

/** Returns UTC days up to today, oldest first, without gaps. */
async function readHistory(connection: Connection, caller: Caller, days: readonly number[]) {
  const since = days[0] ?? 0
  const found = await connection.run(
    caller.kind === 'keyed' ? selectKeys(caller.wallet, since) : selectAddress(caller, since),
  )
  const byDay = Map.groupBy(found, (row) => column.integer(row, 'day'))
  return days.map((day) => {
    const parts = (byDay.get(day) ?? []).map(toKeyCharged)
    return {
      date: toDate(day),
      dateUnix: day,
      charged: sumCharged(parts),
      complete: day !== days.at(-1),
      keys: caller.kind === 'keyed' ? parts : [],
    }
  })
}

function selectAddress(caller: Caller, since: number): Sql {
  return sql`
    select day, cast(null as text) as public_id, used + paid as calls, paid, (
        select cast(coalesce(sum(micro_usd), 0) as bigint) from spend_days
        where account = ${toAccount(caller)} and spend_days.day = usage_days.day
      ) as micro_usd
    from usage_days where bucket = ${caller.bucket} and day >= ${since}`
}

/** Bounds the answer for wallets that rotate endlessly. */
const HISTORY_KEYS_MAX = 100

function selectKeys(wallet: string, since: number): Sql {
  return sql`
    with listed as (
      select public_id from keys where wallet = ${wallet}
      order by created_unix desc, public_id limit ${HISTORY_KEYS_MAX}
    ), parts as (
      select key_days.day, keys.public_id, key_days.used as calls, 0 as paid, 0 as micro_usd
      from keys join key_days on key_days.public_id = keys.public_id
      where keys.wallet = ${wallet} and key_days.day >= ${since}
      union all
      select spend.day, keys.public_id, spend.calls, spend.calls, spend.micro_usd
      from keys join spend_days as spend on spend.account = ${keyAccount('')} || keys.public_id
      where keys.wallet = ${wallet} and spend.day >= ${since}
    )
    select parts.day, listed.public_id, cast(sum(parts.calls) as bigint) as calls,
      cast(sum(parts.paid) as bigint) as paid, cast(sum(parts.micro_usd) as bigint) as micro_usd
    from parts left join listed on listed.public_id = parts.public_id
    group by parts.day, listed.public_id
    order by 3 desc, 2`
}

function toKeyCharged(row: Row) {
  return {
    publicId: column.textOrNull(row, 'public_id'),
    calls: column.integer(row, 'calls'),
    paid: column.integer(row, 'paid'),
    spent: column.amount(row, 'micro_usd'),
  }
}
