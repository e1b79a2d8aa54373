import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/** Something that a promise of ours says otherwise. `subject` names the row, `detail` the figures. */
export interface Difference {
  readonly subject: string
  readonly detail: string
}

/** One promise as a query: it gives what breaks it, nothing when it holds. */
export interface Check {
  readonly name: string
  run(connection: Connection): Promise<Difference[]>
}

/** An audit lists this many differences per check; a broken store has as many as it has rows. */
export const DIFFERENCES_MAX = 100

/**
 * A check whose statement gives `subject`, `expected` and `found` of whatever breaks the promise; a
 * broken figure may be larger than what is read exactly, so that figures travel as texts.
 */
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
