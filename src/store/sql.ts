/** Booleans are 0 and 1, uint256 is padded text. */
export type SqlValue = string | number | bigint | null

export interface Sql {
  readonly kind: 'sql'
  /** Always one longer than `values`. */
  readonly parts: readonly string[]
  readonly values: readonly SqlValue[]
}

/** Nested statements become text, the rest parameters. */
export function sql(strings: TemplateStringsArray, ...holes: readonly (SqlValue | Sql)[]): Sql {
  const parts: string[] = [strings[0] ?? '']
  const values: SqlValue[] = []
  for (const [index, hole] of holes.entries()) {
    const after = strings[index + 1] ?? ''
    if (typeof hole === 'object' && hole !== null) splice(parts, values, hole)
    else {
      values.push(hole)
      parts.push('')
    }
    parts[parts.length - 1] += after
  }
  return { kind: 'sql', parts, values }
}

function splice(parts: string[], values: SqlValue[], inner: Sql): void {
  parts[parts.length - 1] += inner.parts[0] ?? ''
  for (const part of inner.parts.slice(1)) parts.push(part)
  for (const value of inner.values) values.push(value)
}

/** Names and other text that cannot be a parameter; must not come from outside. */
export function plain(text: string): Sql {
  return { kind: 'sql', parts: [text], values: [] }
}

export function join(items: readonly (SqlValue | Sql)[], separator = ', '): Sql {
  const parts: string[] = ['']
  const values: SqlValue[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0) parts[parts.length - 1] += separator
    if (typeof item === 'object' && item !== null) splice(parts, values, item)
    else {
      values.push(item)
      parts.push('')
    }
  }
  return { kind: 'sql', parts, values }
}

/** Writes one text for any number of names, so that it is prepared once. */
export function inNames(names: readonly string[]): Sql {
  const listed = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))
  return sql`in (select key from json_each(${listed}))`
}

/** Callers cut rows into `ROWS_PER_STATEMENT`. */
export function rows(list: readonly (readonly SqlValue[])[]): Sql {
  const parts: string[] = []
  const values: SqlValue[] = []
  for (const row of list)
    for (let column = 0; column < row.length; column += 1) {
      parts.push(column > 0 ? ', ' : parts.length > 0 ? '), (' : '(')
      values.push(row[column] ?? null)
    }
  parts.push(')')
  return { kind: 'sql', parts, values }
}

/** Longer texts cost parsing for little gain. */
export const ROWS_PER_STATEMENT = 500

export const empty: Sql = sql``

export function toNumbered(statement: Sql): string {
  return statement.parts.reduce((text, part, index) => `${text}$${index}${part}`)
}

/** SQLite binds these fastest. */
export function toPlain(statement: Sql): string {
  return statement.parts.join('?')
}
