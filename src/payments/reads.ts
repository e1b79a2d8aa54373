import type { Row } from '#store/engine.ts'
import type { Sql } from '#store/sql.ts'

/** Anything that runs a statement: a transaction, a snapshot, or single reads. */
export interface Reads {
  run(statement: Sql): Promise<readonly Row[]>
}
