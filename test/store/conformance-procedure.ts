import type { Procedure } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

export const RAISE: Procedure<ReadonlyMap<string, bigint>> = {
  name: 'raise counters',
  async run(connection, raises) {
    for (const [id, by] of raises) {
      const raised = await connection.run(
        sql`update counters set used = used + ${by} where id = ${id} returning used`,
      )
      if (raised.length === 0) throw new RangeError(`there is no counter "${id}"`)
    }
  },
}
