import assert from 'node:assert/strict'

/** Booleans are 0 and 1; a uint256 is padded text. */
export type SqlValue = string | number | bigint | null

/** A class, so that nothing a caller sends is taken for one and inlined. */
export class Sql {
  /** Has one entry more than `values`. */
  readonly parts: readonly string[]
  readonly values: readonly SqlValue[]

  constructor(parts: readonly string[], values: readonly SqlValue[] = []) {
    this.parts = parts
    this.values = values
  }
}

/** Nested statements are inlined; other values become parameters. */
export function sql(strings: TemplateStringsArray, ...holes: readonly (SqlValue | Sql)[]): Sql {
  const parts: string[] = [strings[0] ?? '']
  const values: SqlValue[] = []
  for (const [index, hole] of holes.entries()) {
    add(parts, values, hole)
    parts[parts.length - 1] += strings[index + 1] ?? ''
  }
  return new Sql(parts, values)
}

function add(parts: string[], values: SqlValue[], item: SqlValue | Sql): void {
  const inner = item instanceof Sql ? item : new Sql(['', ''], [item])
  parts[parts.length - 1] += inner.parts[0] ?? ''
  for (const part of inner.parts.slice(1)) parts.push(part)
  for (const value of inner.values) values.push(value)
}

/** Inlines names and other text that cannot be a parameter; never pass outside input. */
export function plain(text: string): Sql {
  return new Sql([text])
}

export function join(items: readonly (SqlValue | Sql)[], separator = ', '): Sql {
  const parts: string[] = ['']
  const values: SqlValue[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0) parts[parts.length - 1] += separator
    add(parts, values, item)
  }
  return new Sql(parts, values)
}

/** Writes the same text for any number of names, so that it is prepared once. */
export function inNames(names: readonly string[]): Sql {
  const listed = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))
  return sql`in (select key from json_each(${listed}))`
}

/** Pass at most `ROWS_PER_STATEMENT` rows. */
export function rows(list: readonly (readonly SqlValue[])[]): Sql {
  const parts: string[] = []
  const values: SqlValue[] = []
  for (const row of list)
    for (let column = 0; column < row.length; column += 1) {
      parts.push(column > 0 ? ', ' : parts.length > 0 ? '), (' : '(')
      values.push(row[column] ?? null)
    }
  parts.push(')')
  return new Sql(parts, values)
}

/** Longer texts cost more to parse and save little. */
export const ROWS_PER_STATEMENT = 500

export const empty: Sql = sql``

export function toNumbered(statement: Sql): string {
  return statement.parts.reduce((text, part, index) => `${text}$${index}${part}`)
}

/** SQLite binds these placeholders fastest. */
export function toPlain(statement: Sql): string {
  return statement.parts.join('?')
}

/** Integers are exact numbers. */
export type Row = Readonly<Record<string, unknown>>

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
  /** Reads a list member that is stored as its index. */
  placeIn<T>(list: readonly T[]): (row: Row, name: string) => T {
    return (row, name) => {
      const found = list[column.integer(row, name)]
      assert(found !== undefined, `column ${name} is not a place in its list`)
      return found
    }
  },
}

/** How each member is read from its column: `publicId` from `public_id`. */
type Members = Readonly<Record<string, (row: Row, name: string) => unknown>>

/** The type of a row that the codec reads. */
export type RowOf<C extends { read(row: Row): unknown }> = ReturnType<C['read']>

/** Lists a table's columns once, for statements and for reading. */
export function defineCodec<M extends Members>(members: M) {
  const parts = Object.entries(members).map(([member, read]) => ({
    member,
    name: toColumnName(member),
    read,
  }))
  return {
    columns: join(parts.map(({ member }) => toColumn(member))),
    read: (row: Row) =>
      Object.fromEntries(parts.map(({ member, name, read }) => [member, read(row, name)])) as {
        readonly [N in keyof M]: ReturnType<M[N]>
      },
  }
}

export function toColumn(member: string): Sql {
  return plain(toColumnName(member))
}

function toColumnName(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Sums of uint256 values can have any width, so the text starts with it. */
const DIGITS_MAX = 999
const LENGTH_DIGITS = 3

/**
 * Writes any integer as text that sorts like the number on every engine: sign (0 if negative, else 1), number of
 * digits, digits. For negatives, length and digits are complements to 9.
 */
export function toStored(value: bigint): string {
  const isNegative = value < 0n
  const digits = (isNegative ? -value : value).toString()
  assert(digits.length <= DIGITS_MAX, `${digits.length} digits are more than ${DIGITS_MAX}`)
  const text = digits.length.toString().padStart(LENGTH_DIGITS, '0') + digits
  return isNegative ? `0${complement(text)}` : `1${text}`
}

export function fromStored(text: unknown): bigint {
  assert(
    typeof text === 'string' && text.length > 1 + LENGTH_DIGITS,
    `not a stored integer: ${text}`,
  )
  if (text.startsWith('1')) return BigInt(text.slice(1 + LENGTH_DIGITS))
  return -BigInt(complement(text.slice(1 + LENGTH_DIGITS)))
}

function complement(digits: string): string {
  return digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
}

/** Replaces what stores do not keep: PostgreSQL rejects NUL, and no store keeps lone surrogates. */
export function toStoredText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed()
}

export type ColumnType = 'text' | 'bigint'

/** Columns are named column1, column2 and so on. Casts the first row, for engines that need typed parameters. */
export function typedValues(
  types: readonly ColumnType[],
  list: readonly (readonly SqlValue[])[],
): Sql {
  const parts: string[] = []
  const values: SqlValue[] = []
  let text = 'values ('
  for (const [index, row] of list.entries())
    for (let column = 0; column < row.length; column += 1) {
      if (column > 0) text += ', '
      else if (index > 0) text += '), ('
      parts.push(index === 0 ? `${text}cast(` : text)
      text = index === 0 ? ` as ${types[column] ?? 'text'})` : ''
      values.push(row[column] ?? null)
    }
  parts.push(`${text})`)
  return new Sql(parts, values)
}

export function inKeys(
  columns: Readonly<Record<string, ColumnType>>,
  keys: readonly (readonly SqlValue[])[],
): Sql {
  const names = plain(Object.keys(columns).join(', '))
  return sql`(${names}) in (${typedValues(Object.values(columns), keys)})`
}
