import type { Connection, Engine, Migration } from '../engine.ts'
import { appliedIds, assertInOrder, statementsOf } from '../migrate.ts'
import { sql } from '../sql.ts'
import { ConnectionPool } from './connection-pool.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { transact } from './transaction.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; `sslmode` in it means what it means to libpq. */
  readonly url: string
  /** The schema that holds this store's tables; made when missing. */
  readonly schema: 'register' | 'accounts'
  /** Connections of this process to this store. */
  readonly connectionsMax?: number
  /** A statement that waits longer for a lock fails; by default only the statement's time bounds it. */
  readonly lockTimeoutMs?: number
  /** A server that owes an answer and says nothing for this long is gone. */
  readonly silenceMaxMs?: number
}

/** A statement of ours takes milliseconds; one that takes this long is stuck. */
const STATEMENT_TIMEOUT_MS = 30_000

/** A server that stands has answered by then, be it that the statement took too long. */
const SILENCE_MAX_MS = 40_000

const CONNECTIONS_MAX = 8

const WRITES = 'isolation level read committed'
const READS = 'isolation level repeatable read read only'

/** Keeps two processes that start at once from migrating at once; any constant will do. */
const MIGRATION_LOCK = 5_398_017

/** Opens the scale-out engine on one schema of a PostgreSQL database. */
export function openPostgres(options: PostgresOptions): Engine {
  const { schema, silenceMaxMs = SILENCE_MAX_MS, connectionsMax = CONNECTIONS_MAX } = options
  const settings = { url: urlOf(options), names: new Map<string, string>(), silenceMaxMs }
  const pool = new ConnectionPool({
    connectionsMax,
    create: () => new PostgresConnection(settings),
  })
  return {
    dialect: 'postgres',
    read: (statement) => pool.use((connection) => connection.run(statement)),
    snapshot: (work) => pool.use((connection) => transact(connection, READS, work)),
    async write(work, onCommitted) {
      const result = await pool.use((connection) => transact(connection, WRITES, work))
      onCommitted?.()
      return result
    },
    writeOnce: (statement) => pool.use((connection) => connection.run(statement)),
    migrate: (migrations) => pool.use((connection) => migrate(connection, { schema, migrations })),
    close: () => pool.close(),
  }
}

/** The settings of the session come last, so that those of the address cannot change them. */
function urlOf({ url, schema, lockTimeoutMs = 0 }: PostgresOptions): string {
  const address = new URL(url)
  const query = address.searchParams
  const session = `-c search_path=${schema} -c statement_timeout=${STATEMENT_TIMEOUT_MS} -c lock_timeout=${lockTimeoutMs}`
  query.set('options', [...query.getAll('options'), session].join(' '))
  if (query.has('sslmode') && !query.has('uselibpqcompat')) query.set('uselibpqcompat', 'true')
  return address.href
}

async function migrate(
  connection: PostgresConnection,
  { schema, migrations }: { readonly schema: string; readonly migrations: readonly Migration[] },
): Promise<void> {
  assertInOrder(migrations)
  await transact(connection, WRITES, async (tx) => {
    // Another process that migrates may take its time.
    await connection.command('set local lock_timeout = 0')
    await connection.command(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    await makeSchema(connection, { tx, schema })
    const applied = await appliedIds(tx, migrations)
    for (const migration of migrations.filter((each) => !applied.has(each.id))) {
      await connection.command(statementsOf(migration, 'postgres'))
      await tx.run(
        sql`insert into migrations (id, name) values (${migration.id}, ${migration.name})`,
      )
    }
  })
}

/** A role that may not create anything can serve a store that is up to date. */
async function makeSchema(
  connection: PostgresConnection,
  { tx, schema }: { readonly tx: Connection; readonly schema: string },
): Promise<void> {
  const [standing] = await tx.run(sql`
    select to_regclass(${`${schema}.migrations`}) is not null as stands`)
  if (standing?.stands === true) return
  await connection.command(`create schema if not exists ${schema}`)
  await connection.command('create table migrations (id bigint primary key, name text not null)')
}
