import { type BulkInsert, ConstraintError, type Row, StoreError } from '../engine.ts'
import type { PackedRows } from '../packed-rows.ts'
import type { SqlValue } from '../sql.ts'
import type { ConnectionOptions } from './sqlite-connection.ts'

export type WriterData = ConnectionOptions

export type WriterTask =
  | { readonly kind: 'run'; readonly text: string; readonly values: readonly SqlValue[] }
  | {
      readonly kind: 'insert'
      /** Sent once, then referred to by number. */
      readonly number: number
      readonly into: BulkInsert | undefined
      readonly rows: readonly SqlValue[] | PackedRows
    }
  | { readonly kind: 'call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'execute'; readonly text: string }
  | { readonly kind: 'rollBack' }
  | { readonly kind: 'truncateLog' }
  | { readonly kind: 'close' }

export interface ToWriter {
  readonly ticket: number
  readonly task: WriterTask
}

export type FromWriter =
  | { readonly ticket: number; readonly kind: 'done'; readonly rows: readonly Row[] }
  | { readonly ticket: number; readonly kind: 'failed'; readonly failure: WriterFailure }

/** Error classes do not cross threads. */
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
