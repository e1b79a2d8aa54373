import type { Clock } from '#lib/time.ts'
import type { Connection, Engine, Migration } from './engine.ts'
import { StoreError } from './engine.ts'
import { column } from './row.ts'
import { type Sql, sql } from './sql.ts'

export const leaseMigration = (id: number): Migration => ({
  id,
  name: 'leases',
  sql: `create table leases (
    name text primary key,
    holder text not null,
    epoch bigint not null,
    expires_at_ms bigint not null
  )`,
})

/** The epoch rises with every new holder. */
export interface Lease {
  readonly name: string
  readonly holder: string
  readonly epoch: number
  readonly dialect: Engine['dialect']
}

/** A holder silent this long counts as dead. */
export const LEASE_MS = 10_000

/**
 * The store's clock (the server's or the machine's), so that a holder's wrong clock cannot change
 * leases.
 */
function nowOf(dialect: Engine['dialect'], nowMs: number): Sql {
  return dialect === 'postgres'
    ? sql`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql`${nowMs}`
}

/** A later end was written before the clock was set back, and is void. */
const END_MAX_MS = 2 * LEASE_MS

/** Takes a free, expired or own lease. */
export async function acquireLease(
  deps: { readonly engine: Engine; readonly clock: Clock },
  input: { readonly name: string; readonly holder: string },
): Promise<Lease | undefined> {
  const { dialect } = deps.engine
  const now = nowOf(dialect, deps.clock())
  const rows = await deps.engine.write((connection) =>
    connection.run(sql`
      insert into leases (name, holder, epoch, expires_at_ms)
      values (${input.name}, ${input.holder}, 1, ${now} + ${LEASE_MS})
      on conflict (name) do update set
        holder = excluded.holder, epoch = leases.epoch + 1, expires_at_ms = excluded.expires_at_ms
      where leases.expires_at_ms < ${now} or leases.expires_at_ms > ${now} + ${END_MAX_MS}
        or leases.holder = excluded.holder
      returning epoch`),
  )
  const row = rows[0]
  return row && { ...input, dialect, epoch: column.integer(row, 'epoch') }
}

/**
 * Checks and renews within the transaction, so that a late writer fails before it writes (fencing).
 */
export async function holdLease(
  connection: Connection,
  lease: Lease,
  nowMs: number,
): Promise<void> {
  const rows = await connection.run(sql`
    update leases set expires_at_ms = ${nowOf(lease.dialect, nowMs)} + ${LEASE_MS}
    where name = ${lease.name} and holder = ${lease.holder} and epoch = ${lease.epoch}
    returning epoch`)
  if (rows.length === 0) throw new LeaseLostError(lease)
}

/** Unix milliseconds. */
export async function leaseEnd(connection: Connection, name: string): Promise<number | undefined> {
  const [row] = await connection.run(sql`select expires_at_ms from leases where name = ${name}`)
  return row && column.integer(row, 'expires_at_ms')
}

export async function heldLeases(
  connection: Connection,
  { dialect, nowMs }: Pick<Lease, 'dialect'> & { readonly nowMs: number },
): Promise<readonly string[]> {
  const now = nowOf(dialect, nowMs)
  const rows = await connection.run(sql`
    select name from leases
    where expires_at_ms >= ${now} and expires_at_ms <= ${now} + ${END_MAX_MS} order by name`)
  return rows.map((row) => column.text(row, 'name'))
}

/** Lets the next writer start at once. */
export async function releaseLease(engine: Engine, lease: Lease): Promise<void> {
  await engine.write((connection) =>
    connection.run(sql`
      update leases set expires_at_ms = 0
      where name = ${lease.name} and holder = ${lease.holder} and epoch = ${lease.epoch}`),
  )
}

/** Another writer has taken over. */
export class LeaseLostError extends StoreError {
  override readonly name: string = 'LeaseLostError'
  constructor(lease: Lease) {
    super(`the lease "${lease.name}" (epoch ${lease.epoch}) has passed to another writer`)
  }
}
