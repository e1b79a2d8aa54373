import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { TOTAL } from '#indexer/events/event.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { addSupply, NO_SUPPLY, readSupply, type SupplyChange } from './fold-supply.ts'

/** Supply of a token over all chains, as it is now. The time of totals is asked for as `sumTotals` has it. */
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

/** How the supply changed on each UTC day from a day on, over all chains. */
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

/** What exists: minted less sent to the zero address. Equals `totalSupply()` added over the chains. */
export function totalSupplyOf(supply: SupplyChange): bigint {
  return supply.minted - supply.burned
}

/** What exists and is held by nobody who is excluded. */
export function circulatingOf(supply: SupplyChange): bigint {
  return totalSupplyOf(supply) - supply.locked + supply.unlocked
}

/** Wallets that hold a token on any chain now. */
export async function countHolders(connection: Connection, token: string): Promise<number> {
  const [row] = await connection.run(sql`
    select gained - lost as holders from holder_buckets
    where token = ${token} and grain = 'total'`)
  return row === undefined ? 0 : column.integer(row, 'holders')
}

/** By how many the holders changed on each UTC day from a day on. */
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

/** The first UTC day on which anything of a token moved; undefined before. */
export async function firstSupplyDay(
  connection: Connection,
  token: string,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select min(bucket_unix) as first_unix from supply_buckets
    where token = ${token} and grain = 'day'`)
  return row?.first_unix == null ? undefined : column.integer(row, 'first_unix')
}

/** A balance as it was at the end of a block that is final or not older than the unfinal blocks. */
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
  const now = row === undefined ? 0n : column.u256(row, 'balance')
  return later.reduce(
    (balance, delta) => balance - column.u256(delta, 'received') + column.u256(delta, 'sent'),
    now,
  )
}

/** `totalSupply()` of a token on one chain as it was at the end of a block. */
export async function readSupplyAt(
  connection: Connection,
  input: { readonly token: string; readonly chainId: number; readonly blockNumber: number },
): Promise<bigint> {
  const now = totalSupplyOf(await readTotalSupply(connection, input.token, input.chainId))
  // What the zero address received since the block still existed then; what it sent did not yet.
  return now - (await readBalanceAt(connection, { ...input, address: ZERO_ADDRESS }))
}
