import type { Change } from '#chains/indexer/dataset.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { column, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#store/sql.ts'
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
