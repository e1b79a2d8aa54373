import { fdatasync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { StoreError } from '../engine.ts'

export type SyncFile = (descriptor: number) => Promise<void>

export interface LogSyncOptions {
  /** Write-ahead log; exists after the first write. */
  readonly file: string
  readonly sync?: SyncFile
}

const syncData: SyncFile = promisify(fdatasync)

/**
 * The log reaches the disk while the next batch is decided; callers during a sync share the next.
 * Opening the log drops no POSIX lock: SQLite locks other files.
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

  /** The system may have dropped pages, so later successes prove nothing until the log restarts. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get isBehind(): boolean {
    return this.#running !== undefined || this.#next !== undefined || this.#hasFailed
  }

  healed(): void {
    this.#hasFailed = false
  }

  /** Resolves when all commits so far are on disk. */
  afterCommit(): Promise<void> {
    // If two syncs ran at once, only one would get the error.
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#start()
    this.#next = this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  /** Resolves when all that readers can see is on disk. */
  async synced(): Promise<void> {
    await (this.#next ?? this.#running)
    if (this.#hasFailed) throw new StoreError('SQLite: an earlier commit did not reach the disk')
  }

  async close(): Promise<void> {
    await this.synced().catch(() => undefined)
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

/** Syncs the folder too, so that the name survives (POSIX). */
async function openLasting(file: string): Promise<FileHandle> {
  const opened = await open(file, 'r+')
  // Windows cannot sync folders.
  if (process.platform !== 'win32') {
    const folder = await open(dirname(file), 'r')
    await folder.sync().finally(() => folder.close())
  }
  return opened
}
