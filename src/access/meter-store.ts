import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import type { AdmissionReceipt } from './admission.ts'

/** One of the batches of a process, which are numbered and never overlap. */
export interface BatchId {
  readonly meter: string
  readonly number: number
}

/** Leaves the number of a process's newest batch, so that it can be told whether it was committed. */
export async function recordBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<void> {
  await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, ${id.number}, ${day})
    on conflict (meter) do update set batch = excluded.batch, day = excluded.day`)
}

/**
 * Was the newest batch of this process committed? A commit that is still under way holds the row, so
 * that this waits for its end; of the first batch it holds only the name, for which an insert waits.
 */
export async function wasCommitted(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<boolean> {
  const [row] = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, 0, ${day})
    on conflict (meter) do update set batch = meters.batch returning batch`)
  return row !== undefined && column.integer(row, 'batch') === id.number
}

/** Marks receipts as given back; gives those that were not before. */
export async function markRefunded(
  connection: Connection,
  receipts: readonly AdmissionReceipt[],
): Promise<AdmissionReceipt[]> {
  if (receipts.length === 0) return []
  const sorted = receipts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const marked = await connection.run(sql`
    insert into refunds (receipt, day) values ${rows(sorted.map((each) => [each.id, each.day]))}
    on conflict (receipt) do nothing returning receipt`)
  const fresh = new Set(marked.map((row) => column.text(row, 'receipt')))
  return sorted.filter((each) => fresh.delete(each.id))
}
