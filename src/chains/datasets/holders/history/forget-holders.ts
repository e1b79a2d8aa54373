import type { Change } from '#chains/indexer/dataset.ts'
import type { Connection } from '#store/engine.ts'
import { column, empty, join, type Row, type Sql, sql } from '#store/sql.ts'
import { forgetTotals, sumTotalsAnew } from '../fold-totals.ts'
import { countHoldersAnew } from './count-holders-anew.ts'

/** PostgreSQL cancels statements after half a minute. */
const ROWS_AT_ONCE = 20_000

interface Keyed {
  readonly table: Sql
  readonly key: Readonly<Record<string, 'text' | 'integer'>>
}

const TABLES: readonly Keyed[] = [
  { table: sql`balances`, key: { address: 'text', chain_id: 'integer' } },
  {
    table: sql`balance_deltas`,
    key: { address: 'text', chain_id: 'integer', block_number: 'integer' },
  },
  {
    table: sql`balance_hours`,
    key: { address: 'text', chain_id: 'integer', hour_unix: 'integer' },
  },
  {
    table: sql`supply_buckets`,
    key: { chain_id: 'integer', grain: 'text', bucket_unix: 'integer' },
  },
  {
    table: sql`holder_spans`,
    key: { address: 'text', chain_id: 'integer', from_unix: 'integer' },
  },
]

/** Removes the chain's balances and recounts the others. `several`: tokens on several chains. */
export async function forgetHolders(
  { connection, chainId }: Change,
  several: ReadonlySet<string>,
): Promise<void> {
  // Includes tokens removed from the file, and those minted before the first block that was read.
  const found = await connection.run(sql`
    select token from supply_buckets where chain_id = ${chainId} and grain = 'total'
    union select token from holder_buckets where grain = 'total'`)
  for (const each of TABLES) await deleteChain(connection, each, chainId)
  for (const row of found) {
    const symbol = column.text(row, 'token')
    await countHoldersAnew(connection, { symbol, isOnSeveralChains: true })
    await (several.has(symbol) ? sumTotalsAnew : forgetTotals)(connection, symbol)
  }
}

async function deleteChain(connection: Connection, keyed: Keyed, chainId: number): Promise<void> {
  for (let token = ''; ; ) {
    const [row] = await connection.run(sql`
      select token from ${keyed.table} where token > ${token} order by token limit 1`)
    if (row === undefined) return
    token = column.text(row, 'token')
    await deleteToken(connection, keyed, { token, chainId })
  }
}

/**
 * Pages through all chains in key order, per token, because PostgreSQL estimates a key range by its
 * first column.
 */
async function deleteToken(
  connection: Connection,
  { table, key }: Keyed,
  { token, chainId }: { readonly token: string; readonly chainId: number },
): Promise<void> {
  const names: Sql = { kind: 'sql', parts: [Object.keys(key).join(', ')], values: [] }
  for (let after: Sql = empty, isLast = false; !isLast; ) {
    const [row] = await connection.run(sql`
      select ${names} from ${table} where token = ${token} ${after}
      order by ${names} limit 1 offset ${ROWS_AT_ONCE - 1}`)
    isLast = row === undefined
    const end = row === undefined ? undefined : placeOf(key, row)
    const upTo = end === undefined ? empty : sql`and (${names}) <= (${end})`
    await connection.run(sql`
      delete from ${table} where token = ${token} and chain_id = ${chainId} ${after} ${upTo}`)
    if (end !== undefined) after = sql`and (${names}) > (${end})`
  }
}

function placeOf(key: Keyed['key'], row: Row): Sql {
  return join(
    Object.entries(key).map(([name, type]) =>
      type === 'text' ? column.text(row, name) : column.integer(row, name),
    ),
  )
}
