import { StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'
import type { Admission } from './admission.ts'
import { type BatchId, shortName } from './meter-store.ts'
import { type Tallied, Tally } from './tally.ts'
import { ON_TAKEN, type Taken, toTaken, wantedInOrder, wantedOf } from './usage-day.ts'

/** Calls that were free of late, to be admitted by free units alone. */
export type FreeBatch = Tallied

/**
 * Takes free units for a batch in one statement, which is its own transaction: one turn to the
 * database and no commit to wait for. Gives undefined for calls that found no free unit; of those
 * nothing was taken.
 *
 * The statement marks the batch before it touches a counter, and does nothing where the mark is
 * refused: a batch that was given up while its statement was on the way can no longer come to pass.
 */
export async function takeFree(
  writeOnce: (statement: Sql) => Promise<readonly Readonly<Record<string, unknown>>[]>,
  batch: FreeBatch,
): Promise<readonly (Admission | undefined)[]> {
  const wanted = wantedInOrder(wantedOf(batch.admits))
  const found = await writeOnce(statementOf(batch, wanted))
  if (found.length !== wanted.length) throw new StoreError('the batch was given up')
  return admissionsOf(
    batch,
    new Map(found.map((row) => [column.text(row, 'bucket'), toTaken(row)])),
  )
}

/**
 * The admissions of a batch whose outcome is unknown, as if every bucket got all of its units. Their
 * figures are meaningless.
 */
export function lostAdmissions(batch: FreeBatch): readonly (Admission | undefined)[] {
  const taken = [...wantedOf(batch.admits)].map(([bucket, { units }]): [string, Taken] => [
    bucket,
    { granted: units, used: units, paid: 0, presumed: 0 },
  ])
  return admissionsOf(batch, new Map(taken))
}

function admissionsOf(
  batch: FreeBatch,
  taken: ReadonlyMap<string, Taken>,
): readonly (Admission | undefined)[] {
  const nothing = new Map<string, never>()
  const tally = new Tally(batch, { taken, balances: nothing, spent: nothing, known: nothing })
  return batch.admits.map((caller) => {
    const admission = tally.admit(caller)
    return admission.kind === 'admitted' ? admission : undefined
  })
}

function statementOf(
  { id, day }: { readonly id: BatchId; readonly day: number },
  wanted: readonly object[],
): Sql {
  return sql`
    with marked as (
      insert into meters (meter, batch, day) values (${id.meter}, ${id.number}, ${day})
      on conflict (meter) do update set batch = excluded.batch, day = excluded.day, detail = null
        where meters.batch < excluded.batch
      returning batch
    ), wanted as (
      select listed.bucket, listed.units, listed.quota from marked,
        json_to_recordset(cast(cast(${JSON.stringify(wanted)} as text) as json))
          as listed (bucket text, units bigint, quota bigint)
    ), taken as (
      insert into usage_days (bucket, day, used, paid, granted, quota, quota_most)
      select bucket, cast(${day} as bigint), least(units, quota), 0, least(units, quota), quota, quota
      from wanted
      ${ON_TAKEN}
    ), short as (
      insert into meters (meter, batch, day, detail)
      select cast(${shortName(id)} as text), cast(${id.number} as bigint), cast(${day} as bigint),
        cast(json_object_agg(taken.bucket, taken.granted) as text)
      from taken join wanted on wanted.bucket = taken.bucket
      where taken.granted < wanted.units
      having count(*) > 0
      on conflict (meter) do update
        set batch = excluded.batch, day = excluded.day, detail = excluded.detail
    )
    select bucket, used, paid, granted from taken`
}
