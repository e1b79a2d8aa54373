import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { chunks } from '#base/async.ts'
import { TOTAL } from '#data/events/sums.ts'
import type { Connection } from '#db/engine.ts'
import {
  column,
  empty,
  inKeys,
  ROWS_PER_STATEMENT,
  type Row,
  type Sql,
  sql,
  toStored,
} from '#db/sql.ts'

interface Supply {
  readonly minted: bigint
  readonly burned: bigint
  /** Held by addresses that do not circulate; by the zero address, what it minted to itself. */
  readonly locked: bigint
}

function readSupply(rows: readonly Row[]): Supply {
  const sum = (name: string) => rows.reduce((all, row) => all + column.bigint(row, name), 0n)
  return { minted: sum('minted'), burned: sum('burned'), locked: sum('locked') - sum('unlocked') }
}

/** Compares with `<=`, as `sumTotals` does. */
export async function readTotalSupply(
  connection: Connection,
  token: string,
  chainId?: number,
): Promise<Supply> {
  const found = await connection.run(sql`
    select minted, burned, locked, unlocked from supply_buckets
    where token = ${token} and grain = 'total' and bucket_unix <= ${TOTAL}
      ${chainId === undefined ? sql`` : sql`and chain_id = ${chainId}`}`)
  return readSupply(found)
}

export async function readSupplyDays(
  connection: Connection,
  token: string,
  fromUnix: number,
): Promise<ReadonlyMap<number, Supply>> {
  const found = await connection.run(sql`
    select bucket_unix, minted, burned, locked, unlocked from supply_buckets
    where token = ${token} and grain = 'day' and bucket_unix >= ${fromUnix}`)
  const byDay = Map.groupBy(found, (row) => column.integer(row, 'bucket_unix'))
  return new Map([...byDay].map(([day, rows]) => [day, readSupply(rows)]))
}

/** Equals the sum of `totalSupply()` over the chains. */
export function sumTotalSupply(supply: Supply): bigint {
  return supply.minted - supply.burned
}

export function sumCirculating(supply: Supply): bigint {
  return sumTotalSupply(supply) - supply.locked
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
  const now = sumTotalSupply(await readTotalSupply(connection, input.token, input.chainId))
  // Undoes what the zero address received and sent since.
  return now - (await readBalanceAt(connection, { ...input, address: ZERO_ADDRESS }))
}

export interface Scope {
  readonly token: string
  readonly chainIds: readonly number[]
}

export interface RankedHolding {
  readonly address: Address
  readonly balance: bigint
}

/** Picks the table whose index gives the order: balances of a chain, or totals of several. */
function source({ token, chainIds }: Scope): Sql {
  const [chainId] = chainIds
  if (chainIds.length === 1)
    return sql`balances where token = ${token} and chain_id = ${chainId ?? 0}`
  return sql`holder_totals where token = ${token}`
}

export async function readLargest(
  connection: Connection,
  scope: Scope,
  { limit, after }: { readonly limit: number; readonly after: RankedHolding | undefined },
): Promise<readonly RankedHolding[]> {
  const found = await connection.run(sql`
    select address, balance from ${source(scope)} and balance >= ${LEAST}
      ${after === undefined ? empty : sql`and (balance, address) < (${toStored(after.balance)}, ${after.address})`}
    order by balance desc, address desc
    limit ${limit}`)
  return found.map((row) => ({
    address: column.hex(row, 'address'),
    balance: column.bigint(row, 'balance'),
  }))
}

const LEAST = toStored(1n)

export async function readWalletBalances(
  connection: Connection,
  scope: Scope,
  addresses: readonly Address[],
): Promise<ReadonlyMap<Address, bigint>> {
  const balances = new Map<Address, bigint>()
  for (const part of chunks(addresses, ROWS_PER_STATEMENT)) {
    const keys = part.map((address) => [scope.token, address])
    const found = await connection.run(sql`
      select address, balance from ${source(scope)} and ${inKeys(KEY, keys)}`)
    for (const row of found) balances.set(column.hex(row, 'address'), column.bigint(row, 'balance'))
  }
  return balances
}

const KEY = { token: 'text', address: 'text' } as const

/** Ranks further down are not counted, so that a rank costs the same for a million holders. */
export const RANKED_MAX = 10_000

/** Returns null beyond `RANKED_MAX`. Addresses that are `leftOut` have no rank. */
export async function readRank(
  connection: Connection,
  scope: Scope,
  { own, leftOut }: { readonly own: RankedHolding; readonly leftOut: readonly Address[] },
): Promise<number | null> {
  // Counts enough that taking off those left out leaves all ranks that are shown.
  const [row] = await connection.run(sql`
    select count(*) as ahead from (
      select address from ${source(scope)}
        and (balance, address) > (${toStored(own.balance)}, ${own.address})
      order by balance desc, address desc
      limit ${RANKED_MAX + leftOut.length}) as larger`)
  const balances = await readWalletBalances(connection, scope, leftOut)
  const isAhead = (address: Address) => {
    const balance = balances.get(address) ?? 0n
    return balance === own.balance ? address > own.address : balance > own.balance
  }
  const counted = row === undefined ? 0 : column.integer(row, 'ahead')
  const ahead = counted - leftOut.filter(isAhead).length
  return ahead < RANKED_MAX ? ahead + 1 : null
}

export interface Seen {
  /** The first UTC day at whose end it held any. */
  readonly firstUnix: number | null
  readonly lastUnix: number | null
}

export async function readSeen(
  connection: Connection,
  { token, chainIds }: Scope,
  addresses: readonly Address[],
): Promise<ReadonlyMap<Address, Seen>> {
  if (addresses.length === 0) return new Map()
  const keys = addresses.map((address) => [token, address])
  const areTheirs = inKeys(KEY, keys)
  const found = await connection.run(sql`
    select address, chain_id, cast(null as bigint) as first_unix, last_unix from balances
    where ${areTheirs}
    union all
    select address, chain_id, min(day_unix), cast(null as bigint) from holder_days
    where ${areTheirs} group by address, chain_id`)
  const ofScope = found.filter((row) => chainIds.includes(column.integer(row, 'chain_id')))
  const byAddress = Map.groupBy(ofScope, (row) => column.hex(row, 'address'))
  const seen = [...byAddress].map(([address, rows]): [Address, Seen] => {
    const units = (name: string) =>
      rows.flatMap((row) => column.integerOrNull(row, name) ?? []).sort((a, b) => a - b)
    const [firstUnix = null] = units('first_unix')
    return [address, { firstUnix, lastUnix: units('last_unix').at(-1) ?? null }]
  })
  return new Map(seen)
}
