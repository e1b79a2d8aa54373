import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { TOTAL } from '#index/events/sums.ts'
import { addSupply, NO_SUPPLY, readSupply, type SupplyChange } from './fold-supply.ts'

/** Compares with `<=`, as `sumTotals` does. */
export async function readTotalSupply(
  connection: Connection,
  token: string,
  chainId?: number,
): Promise<SupplyChange> {
  const found = await connection.run(sql`
    select minted, burned, locked, unlocked from supply_buckets
    where token = ${token} and grain = 'total' and bucket_unix <= ${TOTAL}
      ${chainId === undefined ? sql`` : sql`and chain_id = ${chainId}`}`)
  return found.map(readSupply).reduce(addSupply, NO_SUPPLY)
}

/** Returns UTC days over all chains. */
export async function readSupplyDays(
  connection: Connection,
  token: string,
  fromUnix: number,
): Promise<ReadonlyMap<number, SupplyChange>> {
  const found = await connection.run(sql`
    select bucket_unix, minted, burned, locked, unlocked from supply_buckets
    where token = ${token} and grain = 'day' and bucket_unix >= ${fromUnix}`)
  const days = new Map<number, SupplyChange>()
  for (const row of found) {
    const day = column.integer(row, 'bucket_unix')
    days.set(day, addSupply(days.get(day) ?? NO_SUPPLY, readSupply(row)))
  }
  return days
}

/** Equals the sum of `totalSupply()` over the chains. */
export function totalSupplyOf(supply: SupplyChange): bigint {
  return supply.minted - supply.burned
}

export function circulatingOf(supply: SupplyChange): bigint {
  return totalSupplyOf(supply) - supply.locked + supply.unlocked
}

export async function countHolders(connection: Connection, token: string): Promise<number> {
  const [row] = await connection.run(sql`
    select gained - lost as holders from holder_buckets
    where token = ${token} and grain = 'total'`)
  return row === undefined ? 0 : column.integer(row, 'holders')
}

/** The change of the number of holders per UTC day. */
export async function readHolderDays(
  connection: Connection,
  token: string,
  fromUnix: number,
): Promise<ReadonlyMap<number, number>> {
  const found = await connection.run(sql`
    select bucket_unix, gained - lost as change from holder_buckets
    where token = ${token} and grain = 'day' and bucket_unix >= ${fromUnix}`)
  return new Map(
    found.map((row) => [column.integer(row, 'bucket_unix'), column.integer(row, 'change')]),
  )
}

export async function firstSupplyDay(
  connection: Connection,
  token: string,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select min(bucket_unix) as first_unix from supply_buckets
    where token = ${token} and grain = 'day'`)
  return row?.first_unix == null ? undefined : column.integer(row, 'first_unix')
}

/** The block must be final or among the recent ones. */
export async function readBalanceAt(
  connection: Connection,
  input: {
    readonly token: string
    readonly address: Address
    readonly chainId: number
    readonly blockNumber: number
  },
): Promise<bigint> {
  const { token, address, chainId } = input
  const [row] = await connection.run(sql`
    select balance from balances
    where token = ${token} and address = ${address} and chain_id = ${chainId}`)
  const later = await connection.run(sql`
    select received, sent from balance_deltas
    where token = ${token} and address = ${address} and chain_id = ${chainId}
      and block_number > ${input.blockNumber}`)
  const now = row === undefined ? 0n : column.bigint(row, 'balance')
  return later.reduce(
    (balance, delta) => balance - column.bigint(delta, 'received') + column.bigint(delta, 'sent'),
    now,
  )
}

/** Returns the supply at the end of a block. */
export async function readSupplyAt(
  connection: Connection,
  input: { readonly token: string; readonly chainId: number; readonly blockNumber: number },
): Promise<bigint> {
  const now = totalSupplyOf(await readTotalSupply(connection, input.token, input.chainId))
  // Undoes what the zero address received and sent since.
  return now - (await readBalanceAt(connection, { ...input, address: ZERO_ADDRESS }))
}
