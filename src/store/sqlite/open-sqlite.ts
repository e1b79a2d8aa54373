import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Mutex } from '#lib/mutex.ts'
import {
  type Connection,
  type Engine,
  type Migration,
  type OnMigration,
  StoreError,
} from '../engine.ts'
import { appliedIds, applyMissing, assertInOrder } from '../migrate.ts'
import { sql } from '../sql.ts'
import { LogSync, type SyncFile } from './log-sync.ts'
import { SqliteConnection } from './sqlite-connection.ts'

export interface SqliteOptions {
  readonly file: string
  /** `full` survives power loss, `normal` only a crash of the process. */
  readonly durability: 'full' | 'normal'
  /** Suits large inserts; fixed when the file is created. */
  readonly bulk?: boolean
  readonly sync?: SyncFile
}

/** Bulk commits should write each page once; reads use the system's cache. */
const CACHE_KIB = { writer: 12 * 1_024, reader: 4 * 1_024 } as const

/** Reads are synchronous: a thousand that wait would keep everything else from the thread. */
const READING_MS = 5

/** libuv accepts one connection in each. */
const TURNS = 32

/** Opens one writing and one reading connection, in WAL mode. */
export function openSqlite(options: SqliteOptions): Engine {
  mkdirSync(dirname(options.file), { recursive: true })
  const { file, bulk = false } = options
  // A new file is its owner's alone: it holds wallets and digests of secrets.
  closeSync(openSync(file, 'a', 0o600))
  const reader = new SqliteConnection({ file, bulk, cacheKib: CACHE_KIB.reader })
  const writer = new SqliteConnection({ file, bulk, cacheKib: CACHE_KIB.writer })
  const log = options.durability === 'full' ? openLog(options) : undefined
  const requireFile = log === undefined ? () => undefined : watchPresence(file)
  const writes = new Mutex()
  const snapshots = new Mutex()
  const write: Engine['write'] = async (work) => {
    const done = await writes.run(async () => {
      requireFile()
      if (log?.hasFailed === true) await beginNewLog(writer, log)
      let durable: Promise<void> | undefined
      const result = await inTransaction(writer, 'begin immediate', work, () => {
        durable = log?.afterCommit()
        // No other handler if the commit itself fails.
        durable?.catch(() => undefined)
      })
      return { result, durable }
    })
    await done.durable
    return done.result
  }
  const turn = turnsOfEventLoop(READING_MS)
  // Reads may see commits not yet on disk; hold results until they are.
  const read = async <T>(work: () => Promise<T>) => {
    requireFile()
    const result = await snapshots.run(async () => {
      await turn()
      return work()
    })
    if (log?.hasFailed === true) await writes.run(() => beginNewLog(writer, log))
    else if (log?.isBehind === true) await log.synced()
    return result
  }
  return {
    dialect: 'sqlite',
    // Queued: inside a snapshot it would see that older state.
    read: (statement) => read(() => reader.run(statement)),
    snapshot: (work) => read(() => inTransaction(reader, 'begin', work)),
    write,
    writeWithoutTimeout: (work) => write(work),
    migrate: (migrations, onMigration) =>
      migrate(reader, { writer, write }, { migrations, onMigration }),
    close: () =>
      writes.run(() =>
        snapshots.run(async () => {
          await log?.close()
          await reader.close()
          await writer.close()
        }),
      ),
  }
}

/** Lets the event loop turn once reads have followed each other for so long. */
function turnsOfEventLoop(busyMs: number): () => Promise<void> | undefined {
  let sinceMs: number | undefined
  const end = () => {
    sinceMs = undefined
  }
  return () => {
    const nowMs = performance.now()
    if (sinceMs === undefined) {
      sinceMs = nowMs
      void setImmediate().then(end)
    }
    return nowMs - sinceMs < busyMs ? undefined : passTurns()
  }
}

async function passTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await setImmediate()
}

/** `committing` runs in the commit's turn: if synchronous, no read comes between. */
async function inTransaction<T>(
  connection: SqliteConnection,
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

function openLog({ file, sync }: SqliteOptions): LogSync {
  return new LogSync({ file: `${file}-wal`, ...(sync !== undefined && { sync }) })
}

/** A removed file works until its last user closes it, so what is written meanwhile would be lost. */
const LOOK_MS = 500

/** Throws StoreError from then on once the file is gone or another one stands in its place. */
function watchPresence(file: string): () => void {
  const opened = statSync(file).ino
  let lookedMs = performance.now()
  let isGone = false
  return () => {
    const nowMs = performance.now()
    if (!isGone && nowMs - lookedMs > LOOK_MS) {
      lookedMs = nowMs
      isGone = statSync(file, { throwIfNoEntry: false })?.ino !== opened
    }
    if (isGone)
      throw new StoreError(
        `SQLite: ${basename(file)} was removed or replaced while in use; stop the service and restore a backup`,
      )
  }
}

/** Begins a new log after a failed sync: frames behind one that is not on the disk would be lost with the power. */
async function beginNewLog(writer: SqliteConnection, log: LogSync): Promise<void> {
  if (!(await writer.truncateLog())) throw new StoreError('SQLite: cannot restart the WAL yet')
  log.healed()
}

async function migrate(
  reader: SqliteConnection,
  { writer, write }: { readonly writer: SqliteConnection; readonly write: Engine['write'] },
  {
    migrations,
    onMigration,
  }: {
    readonly migrations: readonly Migration[]
    readonly onMigration: OnMigration | undefined
  },
): Promise<void> {
  assertInOrder(migrations)
  // Usually none is missing, and no writer is waited for.
  if (!(await isMissingAny(reader, migrations))) return
  await write(async (connection) => {
    await writer.execute(MIGRATIONS_TABLE)
    const applied = await appliedIds(connection, migrations)
    const execute = (text: string) => writer.execute(text)
    await applyMissing(
      { connection, dialect: 'sqlite', execute },
      { migrations, applied, onMigration },
    )
  })
}

const MIGRATIONS_TABLE =
  'create table if not exists migrations (id bigint primary key, name text not null)'

async function isMissingAny(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<boolean> {
  const tables = await connection.run(sql`select 1 from sqlite_master where name = 'migrations'`)
  if (tables.length === 0) return true
  const applied = await appliedIds(connection, migrations)
  return migrations.some(({ id }) => !applied.has(id))
}
