import { startOfDay } from '#lib/time.ts'
import type { Retained } from '#operations/jobs/retained.ts'
import { column, type Sql, sql } from '#store/sql.ts'

/** Small on SQLite, where they run on the serving thread; on PostgreSQL each page costs a commit. */
export const ROWS_PER_PAGE = { sqlite: 50, postgres: 1_000 }

/** Enough for questions about last month; every anonymous caller leaves a row. */
const KEEP_ADDRESS_DAYS = 35

const KEEP_WALLET_DAYS = 100

/** Counters of calls, but not of days with paid calls, which the audit needs. A key's usage goes after its wallet's. */
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
      // A single upper bound: given two, SQLite scans every old row.
      await connection.run(sql`
        delete from ${table} where ${after} and (day, ${key}) <= (${end.day}, ${end.key})
          and ${isOver}`)
      return { place: end, isDone: row === undefined }
    },
  }
}
