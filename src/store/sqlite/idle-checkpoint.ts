import { stat } from 'node:fs/promises'
import type { Mutex } from '#lib/mutex.ts'
import type { SqliteWriter } from './sqlite-connection.ts'

/** Shorter logs wait: repeated pages are then copied once. */
const LOG_BYTES_MIN = 16_000_000

const PAUSE_MS = 100

/** The pause while readers of an older state, such as an audit, hold the log. */
const RETRY_MS = 2_000

/** Checkpoints a long log while idle, so that no commit has to. */
export class IdleCheckpoint {
  readonly #log: string
  readonly #writer: SqliteWriter
  readonly #writes: Mutex
  #underWay = 0
  #isClosed = false
  #pause: NodeJS.Timeout | undefined

  constructor(file: string, writer: SqliteWriter, writes: Mutex) {
    this.#log = `${file}-wal`
    this.#writer = writer
    this.#writes = writes
  }

  writeBegins(): void {
    this.#underWay += 1
    clearTimeout(this.#pause)
  }

  writeEnds(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#wait(PAUSE_MS)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#pause)
  }

  #wait(ms: number): void {
    this.#pause = setTimeout(() => void this.#copy().catch(() => undefined), ms).unref()
  }

  async #copy(): Promise<void> {
    const { size } = await stat(this.#log)
    if (size < LOG_BYTES_MIN || this.#isBusy) return
    const isCopied = await this.#writes.run(() => this.#writer.truncateLog())
    if (!isCopied && !this.#isBusy) this.#wait(RETRY_MS)
  }

  get #isBusy(): boolean {
    return this.#underWay > 0 || this.#isClosed
  }
}
