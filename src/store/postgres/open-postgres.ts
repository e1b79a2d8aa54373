import postgres from 'postgres'
import type { BulkInsert, Connection, Engine, Migration, Row } from '../engine.ts'
import { ConstraintError, StoreError } from '../engine.ts'
import { appliedIds, assertInOrder, statementsOf } from '../migrate.ts'
import { type Sql, type SqlValue, sql, toNumbered } from '../sql.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string
  /** The schema that holds this store's tables; made when missing. */
  readonly schema: 'register' | 'accounts'
  /** Connections of this process to this store. */
  readonly connectionsMax?: number
  /** A statement that waits longer for a lock fails; by default only the statement's time bounds it. */
  readonly lockTimeoutMs?: number
}

/** A statement of ours takes milliseconds; one that takes this long is stuck. */
const STATEMENT_TIMEOUT_MS = 30_000

/** A server that does not accept a connection within this time counts as down. */
const CONNECT_TIMEOUT_SECONDS = 5

/** Queries in flight are given this long when the process stops. */
const CLOSE_TIMEOUT_SECONDS = 5

/** Keeps two processes that start at once from migrating at once; any constant will do. */
const MIGRATION_LOCK = 5_398_017

type Client = ReturnType<typeof connect>

/** Opens the scale-out engine on one schema of a PostgreSQL database. */
export function openPostgres(options: PostgresOptions): Engine {
  const client = connect(options)
  return {
    dialect: 'postgres',
    read: (statement) => run(client, statement),
    snapshot: (work) => transaction(client, 'isolation level repeatable read read only', work),
    write: (work) => transaction(client, 'isolation level read committed', work),
    writeOnce: (statement) => run(client, statement),
    migrate: (migrations) => guard(() => migrate(client, options.schema, migrations)),
    close: () => client.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  }
}

function connect(options: PostgresOptions) {
  return postgres(options.url, {
    max: options.connectionsMax ?? 8,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    onnotice: () => undefined,
    connection: {
      search_path: options.schema,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: options.lockTimeoutMs ?? 0,
    },
    types: {
      bigint: { to: 20, from: [20], serialize: String, parse: exactNumber },
    },
  })
}

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new StoreError(`integer ${text} is too large to be exact`)
  return value
}

async function migrate(
  client: Client,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  assertInOrder(migrations)
  await client.begin(async (tx) => {
    // Another process that migrates may take its time.
    await tx.unsafe('set local lock_timeout = 0')
    await tx.unsafe(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const connection = connectionOf(tx)
    // A role that may not create anything can serve a store that is up to date.
    const [standing] = await connection.run(sql`
      select to_regclass(${`${schema}.migrations`}) is not null as stands`)
    if (standing?.stands !== true) {
      await tx.unsafe(`create schema if not exists ${schema}`)
      await tx.unsafe('create table migrations (id bigint primary key, name text not null)')
    }
    const applied = await appliedIds(connection, migrations)
    for (const migration of migrations.filter((each) => !applied.has(each.id))) {
      await tx.unsafe(statementsOf(migration, 'postgres'))
      await connection.run(
        sql`insert into migrations (id, name) values (${migration.id}, ${migration.name})`,
      )
    }
  })
}

async function transaction<T>(
  client: Client,
  mode: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  let outcome: { readonly value: T } | undefined
  await guard(() =>
    client.begin(mode, async (tx) => {
      outcome = { value: await work(connectionOf(tx)) }
    }),
  )
  if (outcome === undefined)
    throw new StoreError('PostgreSQL: a transaction ended without a result')
  return outcome.value
}

type Runner = Pick<Client, 'unsafe'>

function connectionOf(runner: Runner): Connection {
  return {
    run: (statement) => run(runner, statement),
    insert: (into, rows) => insert(runner, into, rows),
  }
}

/** Rows that travel in one statement; enough that the way to the server no longer counts. */
const ROWS_PER_INSERT = 5_000

/** One array per column and statement: the server parses no text of many thousand parameters. */
async function insert(
  runner: Runner,
  into: BulkInsert,
  rows: Iterable<readonly SqlValue[]>,
): Promise<readonly Row[]> {
  const names = Object.keys(into.columns)
  const holes = Object.values(into.columns).map((type, index) => `$${index + 1}::${type}[]`)
  const text = `insert into ${into.table} (${names.join(', ')})
    select * from unnest(${holes.join(', ')}) ${into.conflict ?? ''}`
  let lists: SqlValue[][] = names.map(() => [])
  let count = 0
  const found: Row[] = []
  const send = async () => {
    const sent = guard(() => runner.unsafe(text, lists.map(toArrayText), { prepare: true }))
    for (const row of await sent) found.push(row)
  }
  for (const row of rows) {
    for (const [index, value] of row.entries()) lists[index]?.push(value)
    count += 1
    if (count % ROWS_PER_INSERT !== 0) continue
    await send()
    lists = names.map(() => [])
  }
  if (count % ROWS_PER_INSERT !== 0) await send()
  return found
}

/** An array in PostgreSQL's text form; only texts can hold what must be quoted. */
function toArrayText(values: readonly SqlValue[]): string {
  const items = values.map((value) => {
    if (value === null) return 'NULL'
    return typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value)
  })
  return `{${items.join(',')}}`
}

function run(runner: Runner, statement: Sql): Promise<readonly Row[]> {
  return guard(async () => {
    const values = statement.values.map((value) =>
      typeof value === 'bigint' ? value.toString() : value,
    )
    return Array.from(await runner.unsafe(toNumbered(statement), values, { prepare: true }))
  })
}

async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isForeign(error) ? error : toStoreError(error)
  }
}

/** Errors that did not come from the database: a refusal thrown by the work, or one already mapped. */
function isForeign(error: unknown): boolean {
  if (error instanceof StoreError) return true
  return !(error instanceof Error && 'code' in error && typeof error.code === 'string')
}

/** SQLSTATE class 23: integrity constraint violation. */
function toStoreError(error: unknown): StoreError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  const Kind = /^23[0-9A-Z]{3}$/.test(code) ? ConstraintError : StoreError
  return new Kind(`PostgreSQL: ${message}`, { cause: error })
}
