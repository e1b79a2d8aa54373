import type { Connection } from '#store/engine.ts'
import { column, type Sql, sql } from '#store/sql.ts'

export interface LedgerDifference {
  readonly subject: string
  readonly detail: string
}

export interface Check {
  readonly name: string
  run(connection: Connection): Promise<LedgerDifference[]>
}

export const DIFFERENCES_MAX = 100

/** `subject`, `expected` and `found`, as text: broken figures may not be exact. */
export function queryCheck(name: string, statement: Sql): Check {
  return {
    name,
    run: async (connection) => {
      const found = await connection.run(sql`
        select subject, cast(expected as text) as expected, cast(found as text) as found
        from (${statement}) as broken`)
      return found.map((row) => ({
        subject: column.text(row, 'subject'),
        detail: `expected ${column.text(row, 'expected')}, found ${column.text(row, 'found')}`,
      }))
    },
  }
}
