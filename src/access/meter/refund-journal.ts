import { appendFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MicroUsd } from '#domain/money.ts'
import { compileLazily } from '#lib/compile-lazily.ts'
import { Mutex } from '#lib/mutex.ts'
import { Type } from '#lib/type.ts'
import type { AdmissionReceipt } from './admission.ts'
import type { BatchId } from './meter-statements.ts'

/** About 30 MB; later refunds are kept in memory only. */
const LINES_MAX = 100_000

const FILE = /^refunds-.+\.journal$/

/** A batch with unknown commit outcome, to resolve before the next. */
export interface UnresolvedBatch {
  readonly id: BatchId
  /** Charged UTC day (Unix seconds). */
  readonly day: number
  readonly receipts: readonly AdmissionReceipt[]
}

export interface WaitingRefunds {
  readonly receipts: readonly AdmissionReceipt[]
  readonly unresolved: readonly UnresolvedBatch[]
}

interface JournalDeps {
  readonly folder: string
  readonly name: string
  readonly pricePerCall: MicroUsd
  readonly report?: ((error: unknown) => void) | undefined
}

/**
 * Pending refunds on disk, one file per process while something waits. A starting process takes
 * over all others, even of running owners: a receipt is refunded only once.
 */
export class RefundJournal {
  readonly #deps: JournalDeps
  readonly #disk = new Mutex()
  readonly #files: string[]
  #unwritten: string[] = []
  #lines = 0
  #waiting = 0
  #isFaulty = false

  constructor(deps: JournalDeps) {
    this.#deps = deps
    this.#files = [join(deps.folder, `refunds-${deps.name}.journal`)]
  }

  get size(): number {
    return this.#waiting
  }

  /** By the calls' price. Never rejects. */
  async takeOver(): Promise<ReadonlyMap<MicroUsd, WaitingRefunds>> {
    const left = new Map<
      MicroUsd,
      { receipts: AdmissionReceipt[]; unresolved: UnresolvedBatch[] }
    >()
    for (const line of await this.#disk.run(() => this.#readOthers())) {
      const price = BigInt(line.price)
      const known = left.get(price) ?? { receipts: [], unresolved: [] }
      left.set(price, known)
      if ('receipt' in line) known.receipts.push(line.receipt)
      else known.unresolved.push(line.doubt)
    }
    return left
  }

  /** Resolves when these and all earlier entries are on disk. Never rejects. */
  keep({ receipts, unresolved }: WaitingRefunds): Promise<void> {
    const price = String(this.#deps.pricePerCall)
    this.#waiting += receipts.length + unresolved.length
    for (const receipt of receipts) this.#unwritten.push(JSON.stringify({ price, receipt }))
    for (const batch of unresolved) this.#unwritten.push(JSON.stringify({ price, doubt: batch }))
    return this.#disk.run(() => this.#append())
  }

  settled(count: number): void {
    this.#waiting -= count
    if (count > 0 && this.#waiting === 0) void this.#disk.run(() => this.#clear())
  }

  async #append(): Promise<void> {
    const lines = this.#unwritten
    if (lines.length === 0) return
    this.#unwritten = []
    this.#lines += lines.length
    const [file = ''] = this.#files
    try {
      if (this.#lines > LINES_MAX) throw new Error(`more than ${LINES_MAX} refunds wait`)
      await mkdir(this.#deps.folder, { recursive: true })
      // Leading newline: a kill may have torn the previous line.
      await appendFile(file, `\n${lines.join('\n')}\n`, { mode: 0o600, flush: true })
    } catch (cause) {
      this.#fail(`${file} cannot be written: refunds are lost if this process is killed`, cause)
    }
  }

  async #clear(): Promise<void> {
    if (this.#waiting > 0) return
    this.#lines = 0
    try {
      for (const file of this.#files) await rm(file, { force: true })
      this.#files.length = 1
    } catch (cause) {
      this.#fail('a journal of refunds that were made cannot be removed', cause)
    }
  }

  async #readOthers(): Promise<readonly Line[]> {
    const { folder, name } = this.#deps
    const lines: Line[] = []
    const others = (await readdir(folder).catch(() => [])).filter(
      (each) => FILE.test(each) && !this.#files.includes(join(folder, each)),
    )
    for (const [index, other] of others.entries()) {
      const file = join(folder, `refunds-${name}.${index}.journal`)
      try {
        // Renamed first: a running owner then continues in a new file.
        await rename(join(folder, other), file)
        for (const text of (await readFile(file, 'utf8')).split('\n')) {
          const line = parseLine(text)
          if (line !== undefined) lines.push(line)
        }
        this.#files.push(file)
      } catch (cause) {
        // Another process may have taken it over.
        if (!isMissing(cause)) this.#fail(`${join(folder, other)} cannot be read`, cause)
      }
    }
    this.#waiting += lines.length
    if (this.#files.length > 1) await this.#clear()
    return lines
  }

  #fail(message: string, cause: unknown): void {
    if (!this.#isFaulty) this.#deps.report?.(new Error(message, { cause }))
    this.#isFaulty = true
  }
}

type Line =
  | { readonly price: string; readonly receipt: AdmissionReceipt }
  | { readonly price: string; readonly doubt: UnresolvedBatch }

const nameOrNull = Type.Union([Type.String(), Type.Null()])
const receiptSchema = Type.Object({
  id: Type.String(),
  bucket: Type.String(),
  day: Type.Integer(),
  source: Type.Union([Type.Literal('quota'), Type.Literal('prepaid')]),
  account: nameOrNull,
  countedKey: nameOrNull,
})
const price = Type.String({ pattern: '^[0-9]{1,30}$' })
const schema = compileLazily(
  Type.Union([
    Type.Object({ price, receipt: receiptSchema }),
    Type.Object({
      price,
      doubt: Type.Object({
        id: Type.Object({ meter: Type.String(), number: Type.Integer() }),
        day: Type.Integer(),
        receipts: Type.Array(receiptSchema),
      }),
    }),
  ]),
)

/** Skips a line torn by a kill. */
function parseLine(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return schema().Check(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
