import { assert } from '#lib/assert.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'

/**
 * Counts free units of keys beside their wallet's count, whose row is locked by the same transaction.
 * A wallet's first key needs no row: its calls are what the others did not make.
 */
export async function addKeyUnits(
  connection: Connection,
  day: number,
  units: ReadonlyMap<string, number>,
): Promise<void> {
  const list = [...units].sort(([a], [b]) => (a < b ? -1 : 1))
  await connection.run(sql`
    insert into key_days (public_id, day, used)
    values ${rows(list.map(([publicId, used]) => [publicId, day, used]))}
    on conflict (public_id, day) do update set used = key_days.used + excluded.used`)
}

/** Gives free units of a key and day back. */
export async function giveBackKeyUnits(
  connection: Connection,
  input: { readonly publicId: string; readonly day: number; readonly units: number },
): Promise<void> {
  const lowered = await connection.run(sql`
    update key_days set used = used - ${input.units}
    where public_id = ${input.publicId} and day = ${input.day} returning used`)
  assert(lowered.length === 1, 'a refund of calls that were never counted')
}

/** Free units of a day by key. */
export interface KeyDay {
  readonly publicId: string
  readonly day: number
  readonly used: number
}

/** The counts of all keys of a wallet that are counted apart, since a day. */
export async function readKeyDays(
  connection: Connection,
  input: { readonly wallet: string; readonly sinceDay: number },
): Promise<KeyDay[]> {
  const found = await connection.run(sql`
    select key_days.public_id, key_days.day, key_days.used
    from key_days join keys on keys.public_id = key_days.public_id
    where keys.wallet = ${input.wallet} and key_days.day >= ${input.sinceDay}
    order by key_days.day, key_days.public_id`)
  return found.map((row) => ({
    publicId: column.text(row, 'public_id'),
    day: column.integer(row, 'day'),
    used: column.integer(row, 'used'),
  }))
}
