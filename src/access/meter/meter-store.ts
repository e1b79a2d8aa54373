import { assert } from '#lib/assert.ts'
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
    on conflict (meter) do update set batch = excluded.batch, day = excluded.day, detail = null`)
}

/** Stands beside the number of a batch that never came to pass. */
const GIVEN_UP = 'given up'

/** Names the row that says who was granted less than was asked for. */
export function shortName({ meter }: BatchId): string {
  return `${meter}:short`
}

/**
 * Was the newest batch of this process committed? A commit that is still under way holds the row, so
 * that this waits for its end; of the first batch it holds only the name, for which an insert waits.
 * One that was not committed never will be: its number is taken, which a late statement looks at.
 * Gives the units of buckets that were granted fewer than they asked for, or undefined.
 */
export async function settleBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<ReadonlyMap<string, number> | undefined> {
  const [row] = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, 0, ${day})
    on conflict (meter) do update set batch = meters.batch returning batch, detail`)
  const newest = row === undefined ? 0 : column.integer(row, 'batch')
  // Settled before a newer batch began.
  if (newest > id.number) return undefined
  const stands = row !== undefined && newest === id.number
  if (stands && column.textOrNull(row, 'detail') === null) return readShort(connection, id)
  await connection.run(sql`
    update meters set batch = ${id.number}, detail = ${GIVEN_UP} where meter = ${id.meter}`)
  return undefined
}

async function readShort(
  connection: Connection,
  id: BatchId,
): Promise<ReadonlyMap<string, number>> {
  const [row] = await connection.run(sql`
    select detail from meters where meter = ${shortName(id)} and batch = ${id.number}`)
  const granted: unknown = row === undefined ? {} : JSON.parse(column.text(row, 'detail'))
  assert(typeof granted === 'object' && granted !== null, 'granted units are an object')
  return new Map(Object.entries(granted).map(([bucket, units]) => [bucket, Number(units)]))
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
