import type { BulkInsert, Connection } from '#store/engine.ts'
import type { SqlValue } from '#store/sql.ts'
import { inOrder, type Taken, type UsageDay, type Wanted } from './usage-day.ts'

/** What is known of buckets' days, before units are taken. */
export type KnownDays = (bucket: string) => UsageDay | undefined

interface Split {
  /** What the days become where they stand as they are known. */
  readonly taken: Map<string, Taken>
  /** Rows of buckets that take free units, and of those whose calls are paid. */
  readonly free: SqlValue[][]
  readonly paid: SqlValue[][]
  /** Buckets whose day must tell. */
  readonly rest: Map<string, Wanted>
}

/**
 * Counts units on days whose figures are known, and gives those that are left to ask. A row that tells
 * what became of it is more than half as dear again; here it need not, since the statement refuses a row
 * that stands otherwise than it is known: ConstraintError, and nothing of the transaction may then stand.
 * A row that is gone is made as it was known.
 */
export async function takeKnownUnits(
  connection: Connection,
  {
    day,
    wanted,
    known,
  }: {
    readonly day: number
    readonly wanted: ReadonlyMap<string, Wanted>
    readonly known: KnownDays
  },
): Promise<Pick<Split, 'taken' | 'rest'>> {
  const split: Split = { taken: new Map(), free: [], paid: [], rest: new Map() }
  for (const [bucket, want] of inOrder(wanted)) {
    const stands = known(bucket)
    if (stands === undefined || !placeKnown(split, { bucket, day, want, stands }))
      split.rest.set(bucket, want)
  }
  if (split.free.length > 0) await connection.insert(KNOWN_FREE, split.free)
  if (split.paid.length > 0) await connection.insert(KNOWN_PAID, split.paid)
  return split
}

/** False where some units are left, but not all that are wanted, and where calls are paid in vain. */
function placeKnown(
  { taken, free, paid }: Split,
  {
    bucket,
    day,
    want,
    stands,
  }: {
    readonly bucket: string
    readonly day: number
    readonly want: Wanted
    readonly stands: UsageDay
  },
): boolean {
  const { units, quota, paid: calls } = want
  if (calls === 0 && stands.used + units <= quota) {
    const used = stands.used + units
    free.push([bucket, day, used, stands.paid, units, quota, quota])
    taken.set(bucket, { used, paid: stands.paid, granted: units, presumed: 0 })
    return true
  }
  if (units === 0 && stands.used >= quota) {
    const paidThen = stands.paid + calls
    paid.push([bucket, day, stands.used, paidThen, calls, quota, Math.max(quota, stands.used)])
    taken.set(bucket, { used: stands.used, paid: paidThen, granted: 0, presumed: calls })
    return true
  }
  return false
}

const COLUMNS: BulkInsert['columns'] = {
  bucket: 'text',
  day: 'bigint',
  used: 'bigint',
  paid: 'bigint',
  granted: 'bigint',
  quota: 'bigint',
  quota_most: 'bigint',
}

/** The table takes no count below zero; `granted` is what is added. */
const REFUSED = -1

const QUOTA = `quota = excluded.quota, granted = excluded.granted,
    quota_most = case when excluded.quota > usage_days.quota_most
      then excluded.quota else usage_days.quota_most end`

const KNOWN_FREE: BulkInsert = {
  table: 'usage_days',
  columns: COLUMNS,
  conflict: `on conflict (bucket, day) do update set ${QUOTA}, used = case
    when usage_days.used = excluded.used - excluded.granted and usage_days.paid = excluded.paid
    then excluded.used else ${REFUSED} end`,
}

const KNOWN_PAID: BulkInsert = {
  table: 'usage_days',
  columns: COLUMNS,
  conflict: `on conflict (bucket, day) do update set ${QUOTA}, paid = case
    when usage_days.used = excluded.used and usage_days.paid = excluded.paid - excluded.granted
    then excluded.paid else ${REFUSED} end`,
}
