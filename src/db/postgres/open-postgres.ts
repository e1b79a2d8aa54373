import type { Engine, Migration } from '../engine.ts'
import { applyMissing } from '../migrate.ts'
import { ConnectionPool } from './connection-pool.ts'
import { listen } from './listen.ts'
import { PostgresConnection, type PostgresConnectionOptions } from './postgres-connection.ts'
import { lockSession } from './session-lock.ts'
import { transact } from './transaction.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; `sslmode` as in libpq. */
  readonly url: string
  readonly schema: 'accounts' | `register${string}`
  readonly connectionsMax?: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName?: string
  /** Maximum wait for a lock; defaults to the statement timeout. */
  readonly lockTimeoutMs?: number
  /** A connection that is silent this long while a response is due is treated as lost. */
  readonly silenceMaxMs?: number
}

/** Statements normally take milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000

/** Longer than the statement timeout, which a live server reports. */
const SILENCE_MAX_MS = 40_000

const CONNECTIONS_MAX = 8

/**
 * Ends an idle writer, which releases its row locks. Short for accounts, whose rows callers share; longer for the
 * register, which computes between statements.
 */
const SILENT_WRITER_MS = { accounts: 2_000, register: 5_000 } as const

/** Has no idle limit: snapshots lock no rows, and proofs make RPC calls inside one. */
const READS = 'isolation level repeatable read read only'

function writes(schema: PostgresOptions['schema']): string {
  return `isolation level read committed; set local idle_in_transaction_session_timeout = ${SILENT_WRITER_MS[schema === 'accounts' ? 'accounts' : 'register']}`
}

/** Allows longer idle times, because the register computes between statements. */
const WITHOUT_TIMEOUT =
  'isolation level read committed; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 60000'

/** An arbitrary constant, so that processes that start together migrate one after the other. */
const MIGRATION_LOCK = 5_398_017

export function openPostgres(options: PostgresOptions): Engine {
  const { schema, silenceMaxMs = SILENCE_MAX_MS, connectionsMax = CONNECTIONS_MAX } = options
  const names = new Map<string, string>()
  const settings = { ...toConnection(options), names, silenceMaxMs }
  const pool = new ConnectionPool({ ...settings, connectionsMax })
  const stopListening: (() => Promise<void>)[] = []
  return {
    dialect: 'postgres',
    read: (statement) => pool.use((connection) => connection.run(statement)),
    snapshot: (work) => pool.use((connection) => transact(connection, READS, work)),
    write: (work) => pool.use((connection) => transact(connection, writes(schema), work)),
    writeWithoutTimeout: (work) =>
      onOwnConnection(settings, (connection) => transact(connection, WITHOUT_TIMEOUT, work)),
    async migrate(migrations) {
      return onOwnConnection(settings, (connection) =>
        migrateWithin(connection, schema, migrations),
      )
    },
    pool: () => pool.figures(),
    lock: (key) => lockSession(settings, key),
    listen(channel, onNotification) {
      stopListening.push(listen(settings, channel, onNotification))
    },
    async close() {
      await Promise.all([pool.close(), ...stopListening.map((stop) => stop())])
    },
  }
}

function toConnection(options: PostgresOptions): { url: string; session: string } {
  return { url: cleanUrl(options.url), session: writeSession(options) }
}

/** Makes the server notice vanished clients while they wait for locks or results. */
const VANISHED_CLIENT = [
  'client_connection_check_interval = 2000',
  'tcp_keepalives_idle = 5',
  'tcp_keepalives_interval = 2',
  'tcp_keepalives_count = 3',
  'tcp_user_timeout = 20000',
]

/** Without statistics the planner would sort all rows of a list. */
const LISTS_BY_INDEX = 'enable_bitmapscan = off'

/** Sent after connecting, because poolers refuse startup parameters, and the URL must not override these. */
function writeSession(options: PostgresOptions): string {
  const { schema, lockTimeoutMs = 0, applicationName = 'sexton' } = options
  const ours = [
    `application_name = '${applicationName.replaceAll("'", "''")}'`,
    `search_path = ${schema}`,
    `statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
    `lock_timeout = ${lockTimeoutMs}`,
  ]
  return [...ours, ...(schema !== 'accounts' ? [LISTS_BY_INDEX] : []), ...VANISHED_CLIENT]
    .map((setting) => `set ${setting}`)
    .join('; ')
}

function cleanUrl(url: string): string {
  const address = new URL(url)
  const query = address.searchParams
  if (query.has('sslmode') && !query.has('uselibpqcompat')) query.set('uselibpqcompat', 'true')
  return address.href
}

/** Uses its own connection, because migrations may be silent for minutes. */
async function onOwnConnection<T>(
  settings: Omit<PostgresConnectionOptions, 'silenceMaxMs'>,
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const connection = new PostgresConnection({ ...settings, silenceMaxMs: 0 })
  try {
    await connection.open()
    return await work(connection)
  } finally {
    await connection.close()
  }
}

async function migrateWithin(
  connection: PostgresConnection,
  schema: PostgresOptions['schema'],
  migrations: readonly Migration[],
): Promise<void> {
  await transact(connection, writes(schema), async (tx) => {
    // Waits without limit, because another process may hold the lock for long.
    await connection.command('set local lock_timeout = 0; set local statement_timeout = 0')
    await connection.command(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    await makeSchema(connection, schema)
    const execute = (text: string) => connection.command(text)
    await applyMissing(tx, execute, { dialect: 'postgres', migrations })
  })
}

async function makeSchema(connection: PostgresConnection, schema: string): Promise<void> {
  await connection.command(`create schema if not exists ${schema}`)
  await connection.command(
    'create table if not exists migrations (id bigint primary key, name text not null)',
  )
}
