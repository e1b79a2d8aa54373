import type { AsOfSnapshot } from '#chains/indexer/as-of-snapshot.ts'
import { TOTAL } from '#chains/indexer/events/event.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { addSupply, NO_SUPPLY, readSupply, type SupplyChange, takeSupply } from './fold-supply.ts'

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

/** A snapshot means the end of the last whole day before each chain's block: only days are kept. */
export async function supplyAt(
  connection: Connection,
  token: string,
  snapshot?: AsOfSnapshot,
): Promise<SupplyChange> {
  if (snapshot === undefined) return readTotalSupply(connection, token)
  let supply = NO_SUPPLY
  for (const [chainId, { unix }] of snapshot) {
    const later = await connection.run(sql`
      select minted, burned, locked, unlocked from supply_buckets
      where token = ${token} and grain = 'day' and bucket_unix >= ${startOfDay(unix)}
        and chain_id = ${chainId}`)
    const now = await readTotalSupply(connection, token, chainId)
    supply = addSupply(supply, later.map(readSupply).reduce(takeSupply, now))
  }
  return supply
}

/** Returns UTC days over all chains; with a snapshot, whole days only. */
export async function readSupplyDays(
  connection: Connection,
  token: string,
  fromUnix: number,
  snapshot?: AsOfSnapshot,
): Promise<ReadonlyMap<number, SupplyChange>> {
  const found = await connection.run(sql`
    select bucket_unix, chain_id, minted, burned, locked, unlocked from supply_buckets
    where token = ${token} and grain = 'day' and bucket_unix >= ${fromUnix}`)
  const days = new Map<number, SupplyChange>()
  for (const row of found) {
    const day = column.integer(row, 'bucket_unix')
    if (snapshot !== undefined && day >= lastDayOf(snapshot, column.integer(row, 'chain_id')))
      continue
    days.set(day, addSupply(days.get(day) ?? NO_SUPPLY, readSupply(row)))
  }
  return days
}

function lastDayOf(snapshot: AsOfSnapshot, chainId: number): number {
  return startOfDay(snapshot.get(chainId)?.unix ?? 0)
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

/** A snapshot means the end of the last day that is whole on every chain. */
export async function holdersAt(
  connection: Connection,
  token: string,
  snapshot?: AsOfSnapshot,
): Promise<number> {
  const now = await countHolders(connection, token)
  if (snapshot === undefined) return now
  const changes = await readHolderDays(connection, token, firstBrokenDay(snapshot))
  return [...changes.values()].reduce((holders, change) => holders - change, now)
}

export function firstBrokenDay(snapshot: AsOfSnapshot): number {
  return startOfDay(Math.min(...[...snapshot.values()].map(({ unix }) => unix)))
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
