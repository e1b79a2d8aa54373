import { fdatasync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { StoreError } from '../engine.ts'

/** Brings what was written to a file onto the disk. */
export type SyncFile = (descriptor: number) => Promise<void>

export interface LogSyncOptions {
  /** SQLite's write-ahead log; it exists once the database was written to. */
  readonly file: string
  readonly sync?: SyncFile
}

const syncData: SyncFile = promisify(fdatasync)

/**
 * Makes commits durable beside the thread that makes them: SQLite has written them to its log, and
 * the system brings the log onto the disk while the next batch is decided. Whoever comes while one
 * sync is under way shares the next. A POSIX lock cannot be lost by it: SQLite locks other files.
 */
export class LogSync {
  readonly #file: string
  readonly #sync: SyncFile
  #opened: Promise<FileHandle> | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #hasFailed = false

  constructor({ file, sync = syncData }: LogSyncOptions) {
    this.#file = file
    this.#sync = sync
  }

  /**
   * Whether a sync failed: the system may then have forgotten what it could not write, and a later
   * success says nothing of it. Only a new log heals that.
   */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Whether something that is committed may not be on the disk. */
  get isBehind(): boolean {
    return this.#running !== undefined || this.#next !== undefined || this.#hasFailed
  }

  /** The log was copied into the database and begins anew. */
  healed(): void {
    this.#hasFailed = false
  }

  /** Resolves when all that is committed by now is on the disk. */
  afterCommit(): Promise<void> {
    // Between the end of one sync and the beginning of the next too: of two at once only one is told an error.
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#start()
    this.#next = this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  /** Resolves when all that a reader can have seen by now is on the disk. */
  async settled(): Promise<void> {
    await (this.#next ?? this.#running)
    if (this.#hasFailed) throw new StoreError('SQLite: an earlier commit did not reach the disk')
  }

  async close(): Promise<void> {
    await this.settled().catch(() => undefined)
    await (await this.#opened?.catch(() => undefined))?.close()
  }

  async #open(): Promise<FileHandle> {
    try {
      return await openLasting(this.#file)
    } catch (error) {
      this.#opened = undefined
      throw error
    }
  }

  #start(): Promise<void> {
    this.#next = undefined
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #run(): Promise<void> {
    try {
      this.#opened ??= this.#open()
      await this.#sync((await this.#opened).fd)
    } catch (cause) {
      this.#hasFailed = true
      throw new StoreError('SQLite: what was committed did not reach the disk', { cause })
    }
    if (this.#hasFailed) throw new StoreError('SQLite: an earlier commit did not reach the disk')
  }
}

/** Opens a file and makes its name in the folder as lasting as what is in it (POSIX asks for both). */
async function openLasting(file: string): Promise<FileHandle> {
  const opened = await open(file, 'r+')
  // Windows syncs no folders and keeps names by itself.
  if (process.platform !== 'win32') {
    const folder = await open(dirname(file), 'r')
    await folder.sync().finally(() => folder.close())
  }
  return opened
}
