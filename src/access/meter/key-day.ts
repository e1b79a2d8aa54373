import { assert } from '#lib/assert.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/**
 * Counts free units of keys beside their wallet's count, whose row is locked by the same transaction.
 * A wallet's first key needs no row: its calls are what the others did not make. What a wallet of
 * several keys called before its keys were counted stands under the wallet's own bucket.
 */
export async function addKeyUnits(
  connection: Connection,
  day: number,
  units: ReadonlyMap<string, number>,
): Promise<void> {
  const list = [...units].sort(([a], [b]) => (a < b ? -1 : 1))
  await connection.insert(
    COUNTED,
    list.map(([publicId, used]) => [day, publicId, used]),
  )
}

const COUNTED: BulkInsert = {
  table: 'key_days',
  columns: { day: 'bigint', public_id: 'text', used: 'bigint' },
  conflict: 'on conflict (day, public_id) do update set used = key_days.used + excluded.used',
}

/** Refunds free units of a key and day. */
export async function giveBackKeyUnits(
  connection: Connection,
  input: { readonly publicId: string; readonly day: number; readonly units: number },
): Promise<void> {
  const lowered = await connection.run(sql`
    update key_days set used = used - ${input.units}
    where day = ${input.day} and public_id = ${input.publicId} returning used`)
  assert(lowered.length === 1, 'a refund of calls that were never counted')
}
