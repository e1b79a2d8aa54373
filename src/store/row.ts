import assert from 'node:assert/strict'
import { fromStored } from '#lib/stored-integer.ts'
import type { Row } from './engine.ts'
import { join, type Sql } from './sql.ts'

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
  /** Reads a 64-bit integer, such as micro-USD. */
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
  /** Reads a member of a list, stored as its place. */
  placeIn<T>(list: readonly T[]): (row: Row, name: string) => T {
    return (row, name) => {
      const found = list[column.integer(row, name)]
      assert(found !== undefined, `column ${name} is not a place in its list`)
      return found
    }
  },
}

/** How each member is read from the column of its name: `publicId` from `public_id`. */
type Members = Readonly<Record<string, (row: Row, name: string) => unknown>>

/** What a row of the table becomes. */
export type RowOf<C extends { read(row: Row): unknown }> = ReturnType<C['read']>

/** The columns of a table, listed once for statements and for reading. */
export function codecOf<M extends Members>(members: M) {
  const parts = Object.entries(members).map(([member, read]) => ({
    member,
    name: nameOf(member),
    read,
  }))
  return {
    columns: join(parts.map(({ member }) => columnOf(member))),
    read: (row: Row) =>
      Object.fromEntries(parts.map(({ member, name, read }) => [member, read(row, name)])) as {
        readonly [N in keyof M]: ReturnType<M[N]>
      },
  }
}

export function columnOf(member: string): Sql {
  return { kind: 'sql', parts: [nameOf(member)], values: [] }
}

function nameOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
