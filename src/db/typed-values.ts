import { type Sql, type SqlValue, sql } from './sql.ts'

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
  return { kind: 'sql', parts, values }
}

export function inKeys(
  columns: Readonly<Record<string, ColumnType>>,
  keys: readonly (readonly SqlValue[])[],
): Sql {
  const names: Sql = { kind: 'sql', parts: [Object.keys(columns).join(', ')], values: [] }
  return sql`(${names}) in (${typedValues(Object.values(columns), keys)})`
}
