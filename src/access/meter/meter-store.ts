import { type Connection, StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import type { AdmissionReceipt } from './admission.ts'

/** One of the batches of a process, which are numbered and never overlap. */
export interface BatchId {
  readonly meter: string
  readonly number: number
}

/**
 * Records the number of a process's newest batch, so that `settleBatch` can tell whether it was committed.
 * StoreError for a batch that was given up: it must not be counted after all.
 */
export async function recordBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<void> {
  const recorded = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, ${id.number}, ${day})
    on conflict (meter) do update set batch = excluded.batch, day = excluded.day, given_up = 0
      where meters.batch < excluded.batch
    returning batch`)
  if (recorded.length === 0) throw new StoreError('the batch was given up')
}

/**
 * Whether the newest batch of this process was committed. A commit that is still under way holds the row,
 * so that this waits for it. A batch that was not committed is given up: its number is taken, and
 * `recordBatch` refuses it.
 */
export async function settleBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<boolean> {
  const [row] = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, 0, ${day})
    on conflict (meter) do update set batch = meters.batch returning batch, given_up`)
  const newest = row === undefined ? 0 : column.integer(row, 'batch')
  // Settled before a newer batch began.
  if (newest > id.number) return false
  if (row !== undefined && newest === id.number) return row.given_up === 0
  await connection.run(sql`
    update meters set batch = ${id.number}, given_up = 1 where meter = ${id.meter}`)
  return false
}

/** Marks receipts as refunded; returns those that were not before. */
export async function markRefunded(
  connection: Connection,
  receipts: readonly AdmissionReceipt[],
): Promise<AdmissionReceipt[]> {
  if (receipts.length === 0) return []
  const sorted = receipts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const marked = await connection.run(sql`
    insert into refunds (day, receipt) values ${rows(sorted.map((each) => [each.day, each.id]))}
    on conflict (day, receipt) do nothing returning receipt`)
  const fresh = new Set(marked.map((row) => column.text(row, 'receipt')))
  return sorted.filter((each) => fresh.delete(each.id))
}
