import { Type } from 'typebox'
import { toUsd } from '#base/money.ts'
import { named } from '#base/schema.ts'
import { tiers } from '#base/tier.ts'
import { startOfDay } from '#base/time.ts'
import type { Context } from '#context.ts'
import { column, type Sql, sql } from '#db/sql.ts'
import type { Retained } from '#index/retained.ts'
import { answer, defineRoute, type Route } from '#route.ts'
import { getMeter } from '../meter/meter.ts'

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
        and usage_days.bucket = coalesce(
          (select 'wallet:' || wallet from keys where keys.public_id = key_days.public_id),
          key_days.public_id))`,
  }),
]

interface Days {
  readonly table: Sql
  readonly key: Sql
  readonly isOver: Sql
}

function ofDays(keepDays: number, { table, key, isOver }: Days): Retained {
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
