import { type BulkInsert, ConstraintError, type Row, StoreError } from '../engine.ts'
import type { PackedRows } from '../packed-rows.ts'
import type { SqlValue } from '../sql.ts'
import type { ConnectionOptions } from './sqlite-connection.ts'

/** What the thread that writes is started with. */
export type WriterData = ConnectionOptions

/** One thing to do; they are done in the order in which they are told. */
export type WriterTask =
  | { readonly kind: 'run'; readonly text: string; readonly values: readonly SqlValue[] }
  | {
      readonly kind: 'insert'
      /** `into` is told once and goes by its number from then on. */
      readonly number: number
      readonly into: BulkInsert | undefined
      /** Rows one after the other, or packed. */
      readonly rows: readonly SqlValue[] | PackedRows
    }
  /** Of one of the procedures that the thread knows. */
  | { readonly kind: 'call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'execute'; readonly text: string }
  | { readonly kind: 'rollBack' }
  | { readonly kind: 'truncateLog' }
  | { readonly kind: 'close' }

export interface ToWriter {
  readonly ticket: number
  readonly task: WriterTask
}

/** What came of each `ToWriter`. */
export type FromWriter =
  | { readonly ticket: number; readonly kind: 'done'; readonly rows: readonly Row[] }
  | { readonly ticket: number; readonly kind: 'failed'; readonly failure: WriterFailure }

/** An error as plain data: a class does not cross from one thread to another. */
interface WriterFailure {
  readonly kind: 'constraint' | 'store' | 'bug'
  readonly message: string
}

export function toFailure(error: unknown): WriterFailure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ConstraintError) return { kind: 'constraint', message }
  return { kind: error instanceof StoreError ? 'store' : 'bug', message }
}

export function fromFailure({ kind, message }: WriterFailure): Error {
  if (kind === 'constraint') return new ConstraintError(message)
  return kind === 'store' ? new StoreError(message) : new Error(message)
}
