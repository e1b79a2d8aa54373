import assert from 'node:assert/strict'
import { fromStored } from '#lib/stored-integer.ts'
import type { Row } from './engine.ts'

export const column = {
  text(row: Row, name: string): string {
    const value = row[name]
    assert(typeof value === 'string', `column ${name} is no text`)
    return value
  },
  textOrNull(row: Row, name: string): string | null {
    return row[name] === null ? null : column.text(row, name)
  },
  integer(row: Row, name: string): number {
    const value = row[name]
    assert(typeof value === 'number' && Number.isSafeInteger(value), `column ${name} is no integer`)
    return value
  },
  integerOrNull(row: Row, name: string): number | null {
    return row[name] === null ? null : column.integer(row, name)
  },
  /** A 64-bit integer, such as micro-USD. */
  amount(row: Row, name: string): bigint {
    return BigInt(column.integer(row, name))
  },
  bigint(row: Row, name: string): bigint {
    return fromStored(row[name])
  },
  bigintOrNull(row: Row, name: string): bigint | null {
    return row[name] === null ? null : column.bigint(row, name)
  },
  hex(row: Row, name: string): `0x${string}` {
    const value = column.text(row, name)
    assert(value.startsWith('0x'), `column ${name} is no hex`)
    return value as `0x${string}`
  },
  flag(row: Row, name: string): boolean {
    return column.integer(row, name) === 1
  },
}
