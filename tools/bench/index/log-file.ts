import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Logs, first and last. */
export type LogRun = readonly [first: number, last: number]

/** Text is written to the file in pieces of about this many characters. */
const PIECE_CHARACTERS = 4_000_000

/** Millions of logs as the JSON that a node answers with, each followed by a comma, in a file without a name. */
export class LogFile {
  readonly #file: number
  readonly #ends: Float64Array
  readonly #kinds: Uint8Array
  #texts: string[] = []
  #unwritten = 0
  #count = 0

  constructor(logsMax: number) {
    const path = join(tmpdir(), `sexton-bench-logs-${process.pid}-${performance.now()}`)
    this.#file = openSync(path, 'wx+')
    unlinkSync(path)
    this.#ends = new Float64Array(logsMax)
    this.#kinds = new Uint8Array(logsMax)
  }

  get count(): number {
    return this.#count
  }

  append(kind: number, text: string): void {
    this.#kinds[this.#count] = kind
    this.#ends[this.#count] = this.#startOf(this.#count) + text.length
    this.#count += 1
    this.#texts.push(text)
    this.#unwritten += text.length
    if (this.#unwritten >= PIECE_CHARACTERS) this.flush()
  }

  /** Writes what was appended, so that it can be read. */
  flush(): void {
    const bytes = Buffer.from(this.#texts.join(''), 'latin1')
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
    this.#texts = []
    this.#unwritten = 0
  }

  kindOf(log: number): number {
    return this.#kinds[log] ?? 0
  }

  /** The text of runs in their order, without the last comma. */
  read(runs: readonly LogRun[]): Buffer {
    const bytes = Buffer.allocUnsafe(runs.reduce((sum, run) => sum + this.#lengthOf(run), 0))
    let at = 0
    for (const run of runs) {
      const end = at + this.#lengthOf(run)
      const position = this.#startOf(run[0])
      for (const start = at; at < end; )
        at += readSync(this.#file, bytes, at, end - at, position + at - start)
    }
    return bytes.subarray(0, -1)
  }

  close(): void {
    closeSync(this.#file)
  }

  #startOf(log: number): number {
    return log === 0 ? 0 : (this.#ends[log - 1] ?? 0)
  }

  #lengthOf([first, last]: LogRun): number {
    return (this.#ends[last] ?? 0) - this.#startOf(first)
  }
}
