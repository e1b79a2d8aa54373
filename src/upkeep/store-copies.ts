import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Where a store's rows came from; shows whether an interrupted move was committed. */
export interface StoreCopy {
  readonly id: string
  readonly kind: 'move' | 'restore'
  readonly origin: string
  readonly nowUnix: number
}

export async function recordCopy(connection: Connection, copy: StoreCopy): Promise<void> {
  await connection.run(sql`
    insert into store_copies (id, kind, origin, created_unix)
    values (${copy.id}, ${copy.kind}, ${copy.origin}, ${copy.nowUnix})`)
}

export async function hasCopy(connection: Connection, id: string): Promise<boolean> {
  const found = await connection.run(sql`select 1 from store_copies where id = ${id}`)
  return found.length > 0
}
