import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Mutex } from '#lib/mutex.ts'
import {
  type Connection,
  type Engine,
  type Migration,
  type OnMigration,
  StoreError,
} from '../engine.ts'
import { appliedIds, assertInOrder, statementsOf } from '../migrate.ts'
import { sql } from '../sql.ts'
import { IdleCheckpoint } from './idle-checkpoint.ts'
import { LogSync, type SyncFile } from './log-sync.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import type { SqliteWriter } from './sqlite-writer.ts'
import { WriterThread } from './writer-thread.ts'

export interface SqliteOptions {
  /** File of the database; folders are made. */
  readonly file: string
  /** `full` survives power loss; `normal` survives the end of the process only. */
  readonly durability: 'full' | 'normal'
  /** Rows come by the hundred thousand; else each commit is small. Counts when the file is made. */
  readonly bulk?: boolean
  /**
   * Writes run on a thread of their own beside whoever asks for them, which begins with this file and
   * calls `serveWriter`; not for a `full` database.
   */
  readonly ownThread?: URL
  /** How the log of a `full` database is brought onto the disk; the system's own way by default. */
  readonly sync?: SyncFile
}

/**
 * Kilobytes of pages in memory. What a bulk commit touches should be written once; what is read lies
 * in the operating system's cache anyway.
 */
const CACHE_KIB = { writer: 12 * 1_024, reader: 4 * 1_024 } as const

/** Opens the embedded engine: one connection that writes, one that reads, in WAL mode. */
export function openSqlite(options: SqliteOptions): Engine {
  mkdirSync(dirname(options.file), { recursive: true })
  const { file, bulk = false } = options
  // First, so that a file that cannot be opened shows here and starts no thread.
  const reader = new SqliteConnection({ file, bulk, cacheKib: CACHE_KIB.reader })
  const writer = openWriter(options)
  const log = options.durability === 'full' ? openLog(options) : undefined
  const writes = new Mutex()
  const snapshots = new Mutex()
  // On the thread of whoever writes a copy would stand in the way.
  const idle = options.ownThread && new IdleCheckpoint(file, writer, writes)
  const write: Engine['write'] = async (work, onCommitted) => {
    idle?.writeBegins()
    try {
      return await writeNow(work, onCommitted)
    } finally {
      idle?.writeEnds()
    }
  }
  const writeNow: Engine['write'] = async (work, onCommitted) => {
    const done = await writes.run(async () => {
      if (log?.hasFailed === true) await beginNewLog(writer, log)
      let durable: Promise<void> | undefined
      const result = await inTransaction(writer, 'begin immediate', work, () => {
        durable = log?.afterCommit()
        // Where the commit itself fails, nobody waits for this.
        durable?.catch(() => undefined)
      })
      return { result, durable }
    })
    onCommitted?.()
    await done.durable
    return done.result
  }
  // What is read may be committed and not yet on the disk; nobody is told of it before it is.
  const read = async <T>(work: () => Promise<T>) => {
    const result = await snapshots.run(work)
    if (log?.hasFailed === true) await writes.run(() => beginNewLog(writer, log))
    else if (log?.isBehind === true) await log.settled()
    return result
  }
  return {
    dialect: 'sqlite',
    // A read that falls between the statements of a snapshot would share its older state.
    read: (statement) => read(() => reader.run(statement)),
    snapshot: (work) => read(() => inTransaction(reader, 'begin', work)),
    write,
    writeAtLength: (work) => write(work),
    migrate: (migrations, onMigration) =>
      migrate(reader, { writer, write }, { migrations, onMigration }),
    close: () =>
      writes.run(() =>
        snapshots.run(async () => {
          idle?.close()
          await log?.close()
          await reader.close()
          await writer.close()
        }),
      ),
  }
}

/**
 * Work in one transaction, or one snapshot: what it throws takes everything back. `committing` is
 * called in the same turn as the commit: where that is done when it returns, nobody reads in between.
 */
async function inTransaction<T>(
  connection: SqliteWriter,
  begin: 'begin' | 'begin immediate',
  work: (connection: Connection) => Promise<T>,
  committing?: () => void,
): Promise<T> {
  await connection.execute(begin)
  try {
    const result = await work(connection)
    const committed = connection.execute('commit')
    committing?.()
    await committed
    return result
  } catch (error) {
    await connection.rollBack()
    throw error
  }
}

function openWriter({ file, bulk = false, ownThread }: SqliteOptions): SqliteWriter {
  const connection = { file, bulk, cacheKib: CACHE_KIB.writer }
  if (ownThread !== undefined) return new WriterThread(ownThread, connection)
  return new SqliteConnection(connection)
}

function openLog({ file, sync }: SqliteOptions): LogSync {
  return new LogSync({ file: `${file}-wal`, ...(sync !== undefined && { sync }) })
}

/**
 * Copies the whole log into the database, which SQLite then syncs itself, and begins the log anew:
 * frames behind one that never reached the disk would not be found after a loss of power.
 */
async function beginNewLog(writer: SqliteWriter, log: LogSync): Promise<void> {
  if (!(await writer.truncateLog()))
    throw new StoreError('SQLite: the log cannot be begun anew yet')
  log.healed()
}

/** All that is missing in one transaction, so that a version stands as a whole or not at all. */
async function migrate(
  reader: SqliteConnection,
  { writer, write }: { readonly writer: SqliteWriter; readonly write: Engine['write'] },
  {
    migrations,
    onMigration,
  }: {
    readonly migrations: readonly Migration[]
    readonly onMigration: OnMigration | undefined
  },
): Promise<void> {
  assertInOrder(migrations)
  // Mostly nothing is, and then nobody who writes is waited for.
  if ((await missing(reader, migrations)).length === 0) return
  await write(async (connection) => {
    await writer.execute(
      'create table if not exists migrations (id bigint primary key, name text not null)',
    )
    const left = await missing(connection, migrations)
    for (const [index, migration] of left.entries()) {
      if (left.length < migrations.length)
        onMigration?.({ migration, step: index + 1, steps: left.length })
      await writer.execute(statementsOf(migration, 'sqlite'))
      await connection.run(
        sql`insert into migrations (id, name) values (${migration.id}, ${migration.name})`,
      )
    }
  })
}

async function missing(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  const tables = await connection.run(sql`select 1 from sqlite_master where name = 'migrations'`)
  if (tables.length === 0) return migrations
  const applied = await appliedIds(connection, migrations)
  return migrations.filter(({ id }) => !applied.has(id))
}
