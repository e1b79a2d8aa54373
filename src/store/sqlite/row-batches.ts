import type { SqlValue } from '../sql.ts'

/** Values of up to `size` rows at a time, one after the other in one list. */
export function* rowsInBatches(
  rows: Iterable<readonly SqlValue[]>,
  size: number,
): Iterable<SqlValue[]> {
  let values: SqlValue[] = []
  let count = 0
  for (const row of rows) {
    for (const value of row) values.push(value)
    count += 1
    if (count < size) continue
    yield values
    values = []
    count = 0
  }
  if (count > 0) yield values
}
