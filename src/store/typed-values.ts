import { join, type Sql, type SqlValue, sql } from './sql.ts'

export type ColumnType = 'text' | 'bigint'

/**
 * `values (...), (...)` as a table; the first row is cast, so that engines which type their
 * parameters know the columns. Both engines name them column1, column2 and so on.
 */
export function typedValues(
  types: readonly ColumnType[],
  list: readonly (readonly SqlValue[])[],
): Sql {
  const rows = list.map((row, index) =>
    index === 0
      ? sql`(${join(row.map((value, at) => cast(value, types[at])))})`
      : sql`(${join(row)})`,
  )
  return sql`values ${join(rows)}`
}

/** `(a, b) in (values ...)` over composite keys. */
export function inKeys(
  columns: Readonly<Record<string, ColumnType>>,
  keys: readonly (readonly SqlValue[])[],
): Sql {
  const names: Sql = { kind: 'sql', parts: [Object.keys(columns).join(', ')], values: [] }
  return sql`(${names}) in (${typedValues(Object.values(columns), keys)})`
}

function cast(value: SqlValue, type: ColumnType | undefined): Sql {
  return type === 'bigint' ? sql`cast(${value} as bigint)` : sql`cast(${value} as text)`
}
