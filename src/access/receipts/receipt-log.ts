import { appendFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Mutex } from '#lib/mutex.ts'
import { type Clock, DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { Admission } from '../meter/admission.ts'
import type { CalledReceipt, Receipt } from './receipt.ts'

/** Two files are kept, so that the newest ten minutes are there always. */
const SECONDS_MAX = 600

/** Of each file; a busier replica keeps less than ten minutes. */
const BYTES_MAX = 100_000_000

/** About 20 MB in memory, on a disk that hangs. */
const WAITING_MAX = 100_000

/** Opening the file for every batch costs more than writing it. */
const WRITE_EVERY_MS = 100

/** Of other processes, which may have ended. */
const KEEP_MS = DAY_SECONDS * 1_000

export const RECEIPTS_FILE = /^receipts-.+\.log$/

interface ReceiptLogDeps {
  readonly folder: string
  readonly name: string
  readonly clock: Clock
  readonly report?: ((error: unknown) => void) | undefined
}

/**
 * What callers were answered with, in a file of this process: it names what a database lost that
 * failed over. Written soon after, never waited for.
 */
export class ReceiptLog {
  readonly #deps: ReceiptLogDeps
  readonly #disk = new Mutex()
  readonly #file: string
  #unwritten: string[] = []
  #bytes = 0
  #sinceUnix: number
  #isFaulty = false

  constructor(deps: ReceiptLogDeps) {
    this.#deps = deps
    this.#file = join(deps.folder, `receipts-${deps.name}.log`)
    this.#sinceUnix = unixNow(deps.clock)
    void this.#disk.run(() => this.#removeOld())
  }

  add(receipt: Receipt): void {
    if (this.#unwritten.length >= WAITING_MAX) {
      this.#fail(new Error(`more than ${WAITING_MAX} receipts wait for the disk`))
      return
    }
    const atUnix = unixNow(this.#deps.clock)
    this.#unwritten.push(`${JSON.stringify({ ...receipt, atUnix })}\n`)
    if (this.#unwritten.length === 1) setTimeout(() => void this.written(), WRITE_EVERY_MS)
  }

  /** What a committed batch admitted. */
  addCalls(
    batch: {
      readonly id: { readonly meter: string; readonly number: number }
      readonly day: number
    },
    admissions: readonly Admission[],
  ): void {
    const calls = sumOf(admissions)
    if (calls.length === 0) return
    const { id, day } = batch
    this.add({ kind: 'calls', meter: id.meter, batch: id.number, day, calls })
  }

  /** Resolves when what was added is in the file. */
  written(): Promise<void> {
    return this.#disk.run(() => this.#append())
  }

  async #append(): Promise<void> {
    const lines = this.#unwritten.join('')
    if (lines === '') return
    this.#unwritten = []
    const nowUnix = unixNow(this.#deps.clock)
    try {
      if (this.#bytes > BYTES_MAX || nowUnix - this.#sinceUnix > SECONDS_MAX) {
        if (this.#bytes > 0) await rename(this.#file, this.#file.replace(/log$/, 'before.log'))
        this.#bytes = 0
        this.#sinceUnix = nowUnix
      }
      await mkdir(this.#deps.folder, { recursive: true })
      // A failed append may have torn the line before.
      await appendFile(this.#file, this.#isFaulty ? `\n${lines}` : lines, { mode: 0o600 })
      this.#bytes += lines.length
    } catch (cause) {
      this.#fail(cause)
    }
  }

  #fail(cause: unknown): void {
    const words = `${this.#file} cannot be written: after a failover nothing names what was lost`
    if (!this.#isFaulty) this.#deps.report?.(new Error(words, { cause }))
    this.#isFaulty = true
  }

  async #removeOld(): Promise<void> {
    const { folder, clock } = this.#deps
    const files = (await readdir(folder).catch(() => [])).filter((each) => RECEIPTS_FILE.test(each))
    for (const file of files.map((each) => join(folder, each))) {
      const written = await stat(file).catch(() => undefined)
      if (written !== undefined && written.mtimeMs < clock() - KEEP_MS)
        await rm(file, { force: true })
    }
  }
}

function sumOf(admissions: readonly Admission[]): readonly CalledReceipt[] {
  const sums = new Map<string, CalledReceipt>()
  for (const each of admissions) {
    if (each.kind !== 'admitted') continue
    const { bucket, account } = each.receipt
    const name = `${bucket} ${account}`
    sums.set(name, { bucket, account, calls: (sums.get(name)?.calls ?? 0) + 1 })
  }
  return [...sums.values()]
}
