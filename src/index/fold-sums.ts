import assert from 'node:assert/strict'
import { allEnded } from '#base/async.ts'
import { chunks } from '#base/chunks.ts'
import type { Connection } from '#db/engine.ts'
import { column, plain, ROWS_PER_STATEMENT, type Row, sql, toStored } from '#db/sql.ts'
import { type ColumnType, inKeys } from '#db/typed-values.ts'

/** A table of sums. A row whose sums are all zero is deleted. */
export interface SumTable {
  readonly table: string
  readonly key: Readonly<Record<string, ColumnType>>
  /** `text` is for integers of any size and sign, `bigint` for counts. */
  readonly sums: Readonly<Record<string, ColumnType>>
}

/** What is added to one row; negative for a reorg. */
export interface Addition {
  readonly key: readonly (string | number)[]
  readonly sums: readonly bigint[]
}

export async function foldSums(
  connection: Connection,
  table: SumTable,
  additions: Iterable<Addition>,
): Promise<void> {
  const byKey = new Map<string, Addition>()
  for (const each of additions) {
    const id = each.key.join('|')
    const before = byKey.get(id)
    byKey.set(
      id,
      before === undefined ? each : { key: each.key, sums: add(before.sums, each.sums) },
    )
  }
  const moved = [...byKey.values()].filter((each) => each.sums.some((sum) => sum !== 0n))
  const parts = chunks(moved, ROWS_PER_STATEMENT)
  await allEnded(parts.map((part) => foldPart(connection, table, part)))
}

function add(a: readonly bigint[], b: readonly bigint[]): readonly bigint[] {
  return a.map((sum, place) => sum + (b[place] ?? 0n))
}

async function foldPart(
  connection: Connection,
  { table, key, sums }: SumTable,
  part: readonly Addition[],
): Promise<void> {
  const [keyNames, sumNames] = [Object.keys(key), Object.keys(sums)]
  const stored = await connection.run(sql`
    select ${plain([...keyNames, ...sumNames].join(', '))} from ${plain(table)}
    where ${inKeys(
      key,
      part.map((each) => each.key),
    )}`)
  const rows = new Map(stored.map((row) => [keyNames.map((name) => row[name]).join('|'), row]))
  const after = part.map((each) => {
    const row = rows.get(each.key.join('|'))
    const before = sumNames.map((name) => (row === undefined ? 0n : readSum(row, name, sums)))
    return { key: each.key, sums: add(before, each.sums) }
  })
  const emptied = after.filter((each) => each.sums.every((sum) => sum === 0n))
  const kept = after.filter((each) => each.sums.some((sum) => sum !== 0n))
  const writeSum = (sum: bigint, place: number) => {
    if (Object.values(sums)[place] === 'text') return toStored(sum)
    assert(sum >= 0n, `more was reverted than stored in ${table}`)
    return Number(sum)
  }
  await connection.insert(
    {
      table,
      columns: { ...key, ...sums },
      conflict: `on conflict (${keyNames.join(', ')}) do update set
        ${sumNames.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    },
    kept.map((each) => [...each.key, ...each.sums.map(writeSum)]),
  )
  const gone = emptied.map((each) => each.key)
  await deleteRows(connection, table, key, gone)
}

export async function deleteRows(
  connection: Connection,
  table: string,
  key: Readonly<Record<string, ColumnType>>,
  keys: readonly (readonly (string | number)[])[],
): Promise<void> {
  for (const part of chunks(keys, ROWS_PER_STATEMENT))
    await connection.run(sql`delete from ${plain(table)} where ${inKeys(key, part)}`)
}

function readSum(row: Row, name: string, sums: SumTable['sums']): bigint {
  return sums[name] === 'text' ? column.bigint(row, name) : BigInt(column.integer(row, name))
}
