import type { Connection, Engine } from '#store/engine.ts'
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

/** Any constant; held until a copying transaction ends, also after its process was killed. */
const COPY_LOCK = 5_398_018

/** Waits for the transaction of a killed copier, which may still commit. */
export async function lockCopies(tx: Connection): Promise<void> {
  await tx.run(sql`select 1 from pg_advisory_xact_lock(${COPY_LOCK})`)
}

/** Whether a copy whose end went unheard was committed. */
export function wasCopied(target: Engine, id: string): Promise<boolean> {
  return target.writeWithoutTimeout(async (tx) => {
    if (target.dialect === 'postgres') await lockCopies(tx)
    return hasCopy(tx, id)
  })
}

export async function hasCopy(connection: Connection, id: string): Promise<boolean> {
  const found = await connection.run(sql`select 1 from store_copies where id = ${id}`)
  return found.length > 0
}
