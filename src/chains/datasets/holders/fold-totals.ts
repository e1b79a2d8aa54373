import type { Change } from '#chains/indexer/dataset.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { column, empty, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import type { Movement } from './movement.ts'

const KEY = { token: 'text', address: 'text' } as const

/** Adds up what moved wallets hold, once their balances are stored. `tokens` are on several chains. */
export async function foldTotals(
  change: Change,
  movements: readonly Movement[],
  tokens: ReadonlySet<string>,
): Promise<void> {
  const moved = movements.filter(
    ({ token, address }) => tokens.has(token) && address !== ZERO_ADDRESS,
  )
  for (const own of Map.groupBy(moved, ({ token }) => token).values())
    for (const part of chunks(own, ROWS_PER_STATEMENT)) await foldPart(change, part)
}

/** After a changed file: balances move without the totals of a token that is not on several chains. */
export async function reconcileTotals(
  connection: Connection,
  tokens: ReadonlySet<string>,
): Promise<void> {
  const found = await connection.run(sql`select distinct token from holder_totals`)
  const summed = new Set(found.map((row) => column.text(row, 'token')))
  for (const token of summed.difference(tokens)) await forgetTotals(connection, token)
  for (const token of tokens.difference(summed)) await sumTotalsAnew(connection, token)
}

/** Adds balances, not movements, so that a total cannot drift. */
async function foldPart({ connection }: Change, part: readonly Movement[]): Promise<void> {
  const keys = part.map(({ token, address }) => [token, address])
  const found = await connection.run(sql`
    select token, address, balance from balances where ${inKeys(KEY, keys)}`)
  const sums = sumsOf(found)
  const emptied = part.filter(({ address }) => !sums.has(address))
  if (emptied.length > 0)
    await connection.run(sql`
      delete from holder_totals where ${inKeys(
        KEY,
        emptied.map(({ token, address }) => [token, address]),
      )}`)
  const [first] = part
  if (first === undefined || sums.size === 0) return
  const list = [...sums].map(([address, balance]) => [first.token, address, toStored(balance)])
  await connection.run(sql`
    insert into holder_totals (token, address, balance) values ${rows(list)}
    on conflict (token, address) do update set balance = excluded.balance`)
}

/** Returns sums by address, without those of zero. */
function sumsOf(balances: readonly Row[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const row of balances) {
    const address = column.text(row, 'address')
    sums.set(address, (sums.get(address) ?? 0n) + column.bigint(row, 'balance'))
  }
  for (const [address, sum] of sums) if (sum === 0n) sums.delete(address)
  return sums
}

const HOLDER_TOTALS: BulkInsert = {
  table: 'holder_totals',
  columns: { ...KEY, balance: 'text' },
}

const PAGE = 20_000

export async function sumTotalsAnew(connection: Connection, token: string): Promise<void> {
  await forgetTotals(connection, token)
  for (let after = '', isLast = false; !isLast; ) {
    const page = await connection.run(sql`
      select address, balance from balances where token = ${token} and address > ${after}
      order by address limit ${PAGE}`)
    isLast = page.length < PAGE
    // The last wallet of a full page may continue on the next.
    const cut = isLast ? undefined : page.at(-1)?.address
    const whole = page.filter((row) => row.address !== cut)
    const list = [...sumsOf(whole)].map(([address, sum]) => [token, address, toStored(sum)])
    await connection.insert(HOLDER_TOTALS, list)
    after = column.text(whole.at(-1) ?? { address: after }, 'address')
  }
}

/** Deletes in statements of bounded size: PostgreSQL cancels those of half a minute. */
export async function forgetTotals(connection: Connection, token: string): Promise<void> {
  for (let isLast = false; !isLast; ) {
    const [end] = await connection.run(sql`
      select address from holder_totals where token = ${token}
      order by address limit 1 offset ${PAGE - 1}`)
    isLast = end === undefined
    const upTo = end === undefined ? empty : sql`and address <= ${column.text(end, 'address')}`
    await connection.run(sql`delete from holder_totals where token = ${token} ${upTo}`)
  }
}
