import { toStored } from '#store/sql.ts'
import type { SqlValue } from './sql.ts'

export type PackedColumn =
  | { readonly kind: 'same'; readonly value: SqlValue }
  /** NaN is null. */
  | { readonly kind: 'numbers'; readonly values: Float64Array<ArrayBuffer> }
  /** `0x` hex; highest byte first. */
  | ({ readonly kind: 'hex' } & PackedWords)
  /** An integer in two's complement; lowest word first. */
  | ({ readonly kind: 'integer' } & PackedWords)

interface PackedWords {
  readonly words: Uint32Array<ArrayBuffer>
  readonly width: number
}

/** Bounds the text in memory. */
const UNPACKED_AT_ONCE = 4_096

export interface PackedRows {
  readonly count: number
  readonly columns: readonly PackedColumn[]
}

export type Rows = Iterable<readonly SqlValue[]> | PackedRows

export function eachRow(rows: Rows): Iterable<readonly SqlValue[]> {
  return 'columns' in rows ? unpack(rows) : rows
}

/** Returns copies. */
export function slicePacked(rows: PackedRows, from: number, to: number): PackedRows {
  return {
    count: Math.min(to, rows.count) - from,
    columns: rows.columns.map((column) => {
      if (column.kind === 'same') return column
      if (column.kind === 'numbers') return { ...column, values: column.values.slice(from, to) }
      const { words, width } = column
      return { ...column, words: words.slice(from * width, to * width) }
    }),
  }
}

function* unpack(rows: PackedRows): Iterable<readonly SqlValue[]> {
  for (let from = 0; from < rows.count; from += UNPACKED_AT_ONCE) {
    const isWhole = rows.count <= UNPACKED_AT_ONCE
    const part = isWhole ? rows : slicePacked(rows, from, from + UNPACKED_AT_ONCE)
    const readers = part.columns.map(readerOf)
    for (let row = 0; row < part.count; row += 1) yield readers.map((read) => read(row))
  }
}

function readerOf(column: PackedColumn): (row: number) => SqlValue {
  switch (column.kind) {
    case 'same':
      return () => column.value
    case 'numbers':
      return (row) => packedNumber(column, row)
    case 'hex':
      return hexReader(column)
    case 'integer':
      return (row) => toStored(packedInteger(column, row))
  }
}

export function packedNumber(
  { values }: Extract<PackedColumn, { kind: 'numbers' }>,
  row: number,
): number | null {
  const value = values[row] ?? Number.NaN
  return Number.isNaN(value) ? null : value
}

export function packedInteger({ words, width }: PackedWords, row: number): bigint {
  const from = row * width
  const isNegative = (words[from + width - 1] ?? 0) > 0x7fff_ffff
  let top = width - 1
  while (top > 0 && words[from + top] === 0) top -= 1
  let value = 0n
  for (let at = top; at >= 0; at -= 1) value = (value << 32n) | BigInt(words[from + at] ?? 0)
  return isNegative ? BigInt.asIntN(width * 32, value) : value
}

export function packedBytes({ words }: PackedWords): Buffer {
  const bytes = Buffer.alloc(words.length * 4)
  for (let at = 0; at < words.length; at += 1) bytes.writeUInt32BE(words[at] ?? 0, at * 4)
  return bytes
}

function hexReader(column: PackedWords) {
  const text = packedBytes(column).toString('hex')
  const digits = column.width * 8
  return (row: number) => `0x${text.slice(row * digits, (row + 1) * digits)}`
}
