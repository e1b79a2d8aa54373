import assert from 'node:assert/strict'
import { toStored } from '#store/sql.ts'
import type { BulkInsert } from '../engine.ts'
import {
  type PackedColumn,
  type PackedRows,
  packedBytes,
  packedInteger,
  packedNumber,
} from '../packed-rows.ts'
import type { SqlValue } from '../sql.ts'

/** The longest number, such as -0.0000012345678901234567. */
const NUMBER_LENGTH = 25

const BLANK_NUMBER = `x'${'20'.repeat(NUMBER_LENGTH)}'`

interface PackedInsert {
  readonly text: string
  readonly values: readonly (SqlValue | Uint8Array)[]
}

/** One blob per column is faster than binding values; SQLite reads them with `substr`. */
export function packedInsert(
  { table, columns, constants = {}, conflict = '' }: BulkInsert,
  { count, columns: packed }: PackedRows,
): PackedInsert {
  const fields = packed.map((column, index) => fieldOf(column, `?${index + 2}`, count))
  const text = `
    with recursive list (place) as (select 0 union all select place + 1 from list where place + 1 < ?1)
    insert into ${table} (${Object.keys({ ...columns, ...constants }).join(', ')})
    select ${[...fields.map((field) => field.sql), ...Object.values(constants)].join(', ')} from list where true ${conflict}`
  return { text, values: [count, ...fields.map((field) => field.value)] }
}

interface Field {
  readonly sql: string
  readonly value: SqlValue | Uint8Array
}

function fieldOf(column: PackedColumn, slot: string, count: number): Field {
  const piece = (width: number) => `substr(${slot}, place * ${width} + 1, ${width})`
  switch (column.kind) {
    case 'same':
      return { sql: slot, value: column.value }
    case 'hex': {
      const digits = packedBytes(column).toString('hex')
      const sql = `'0x' || cast(${piece(column.width * 8)} as text)`
      return { sql, value: Buffer.from(digits, 'latin1') }
    }
    case 'integer': {
      const texts = Array.from({ length: count }, (_, row) => toStored(packedInteger(column, row)))
      const width = texts.reduce((most, { length }) => Math.max(most, length), 1)
      const value = rightAligned((row) => texts[row] ?? '', { count, width, filler: ' ' })
      return { sql: `ltrim(cast(${piece(width)} as text))`, value }
    }
    case 'numbers': {
      const textOf = (row: number) => String(packedNumber(column, row) ?? '')
      const value = rightAligned(textOf, { count, width: NUMBER_LENGTH, filler: ' ' })
      return { sql: `cast(nullif(${piece(NUMBER_LENGTH)}, ${BLANK_NUMBER}) as numeric)`, value }
    }
  }
}

function rightAligned(
  textOf: (row: number) => string,
  { count, width, filler }: { readonly count: number; readonly width: number; filler: string },
): Uint8Array {
  const bytes = Buffer.alloc(count * width, filler)
  for (let row = 0; row < count; row += 1) {
    const text = textOf(row)
    assert(text.length <= width, `${text} is longer than ${width} characters`)
    bytes.write(text, (row + 1) * width - text.length, 'latin1')
  }
  return bytes
}
