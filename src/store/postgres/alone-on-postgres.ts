import { type Connection, InUseError, type Migration } from '../engine.ts'
import { appliedIds, applyMissing } from '../migrate.ts'
import { column } from '../row.ts'
import { sql } from '../sql.ts'
import {
  connectionOf,
  MIGRATION_LOCK,
  onOwnConnection,
  type PostgresOptions,
} from './open-postgres.ts'
import { transact } from './transaction.ts'

/** Names connections that do not count as use. */
export const COPIER = 'sexton copy'

/** Sorting a large table takes minutes, and the other side of a copy waits that long. */
const WITHOUT_LIMITS =
  'set local statement_timeout = 0; set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0'

/** One state of a store that may be in use. */
export function snapshotOfPostgres<T>(
  options: StoreUrl,
  work: (reads: Connection) => Promise<T>,
): Promise<T> {
  return transactAsCopier(options, 'read only', work)
}

/**
 * One transaction in a store that no other process of Sexton is connected to. Others that start
 * meanwhile wait for its end, as they do for migrations. It begins with those that are missing. Throws
 * InUseError.
 */
export function aloneOnPostgres<T>(
  options: StoreUrl,
  work: (tx: Connection) => Promise<T>,
  migrations: readonly Migration[] = [],
): Promise<T> {
  return transactAsCopier(options, 'read write', async (tx, execute) => {
    await refuseOthers(tx)
    if (migrations.length > 0) {
      const applied = await appliedIds(tx, migrations)
      await applyMissing({ connection: tx, dialect: 'postgres', execute }, { migrations, applied })
    }
    return work(tx)
  })
}

type StoreUrl = Pick<PostgresOptions, 'url' | 'schema'>

function transactAsCopier<T>(
  options: StoreUrl,
  access: 'read only' | 'read write',
  work: (tx: Connection, execute: (text: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const settings = { ...connectionOf({ ...options, applicationName: COPIER }), names: new Map() }
  const mode = `isolation level repeatable read ${access}; ${WITHOUT_LIMITS}`
  return onOwnConnection(settings, (connection) =>
    transact(connection, mode, (tx) => work(tx, (text) => connection.command(text))),
  )
}

async function refuseOthers(tx: Connection): Promise<void> {
  const [lock] = await tx.run(sql`select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as is_ours`)
  if (lock?.is_ours !== true)
    throw new InUseError('the database is being migrated or copied by another process')
  const others = await tx.run(sql`
    select distinct application_name as name from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'sexton%' and application_name <> ${COPIER} order by name`)
  const names = others.map((row) => column.text(row, 'name'))
  if (names.length > 0) throw new InUseError(`the database is in use by "${names.join('", "')}"`)
}
