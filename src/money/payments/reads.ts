import type { Row } from '#store/engine.ts'
import type { Sql } from '#store/sql.ts'

export interface Reads {
  run(statement: Sql): Promise<readonly Row[]>
}
