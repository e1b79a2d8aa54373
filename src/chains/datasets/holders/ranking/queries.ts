import type { AsOfSnapshot } from '#chains/indexer/as-of-snapshot.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/stored-integer.ts'
import { startOfDay } from '#lib/time.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, ROWS_PER_STATEMENT, type Sql, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'

/** A token on these of its chains. */
export interface Scope {
  readonly token: string
  readonly chainIds: readonly number[]
}

export interface Holding {
  readonly address: Address
  readonly balance: bigint
}

/** What a wallet moved after a snapshot. */
export interface Moved {
  readonly change: bigint
  /** The last transfers up to the snapshot, by chain id; null where nothing was held. */
  readonly last: ReadonlyMap<number, number | null>
}

export type MovedSince = ReadonlyMap<Address, Moved>

/** Picks the table whose index gives the order: balances of a chain, or totals of several. */
function source({ token, chainIds }: Scope): Sql {
  const [chainId] = chainIds
  if (chainIds.length === 1)
    return sql`balances where token = ${token} and chain_id = ${chainId ?? 0}`
  return sql`holder_totals where token = ${token}`
}

/** Changes of balances, on one chain, that may be undone for an answer: they cost time and memory. */
export const MOVED_MAX = 5_000

/**
 * Reads what moved after a snapshot, which must not be older than the final blocks. Returns the id
 * of a chain with more than `MOVED_MAX` changes.
 */
export async function readMovedSince(
  connection: Connection,
  { token, chainIds }: Scope,
  snapshot: AsOfSnapshot | undefined,
): Promise<MovedSince | number> {
  const moved = new Map<Address, { change: bigint; last: Map<number, number | null> }>()
  for (const chainId of snapshot === undefined ? [] : chainIds) {
    const found = await connection.run(sql`
      select address, received, sent, last_unix from balance_deltas
      where chain_id = ${chainId} and block_number > ${snapshot?.get(chainId)?.number ?? 0}
        and token = ${token}
      order by block_number limit ${MOVED_MAX + 1}`)
    if (found.length > MOVED_MAX) return chainId
    for (const row of found) {
      const address = column.hex(row, 'address')
      if (address === ZERO_ADDRESS) continue
      const each = moved.get(address) ?? { change: 0n, last: new Map() }
      each.change += column.bigint(row, 'received') - column.bigint(row, 'sent')
      if (!each.last.has(chainId)) each.last.set(chainId, column.integerOrNull(row, 'last_unix'))
      moved.set(address, each)
    }
  }
  return moved
}

/** Returns the largest first, equal ones by descending address, as they were before `moved`. */
export async function readLargest(
  connection: Connection,
  scope: Scope,
  {
    limit,
    after,
    moved,
  }: {
    readonly limit: number
    readonly after: Holding | undefined
    readonly moved: MovedSince
  },
): Promise<readonly Holding[]> {
  const found = await connection.run(sql`
    select address, balance from ${source(scope)} and balance >= ${LEAST}
      ${after === undefined ? empty : sql`and (balance, address) < (${toStored(after.balance)}, ${after.address})`}
    order by balance desc, address desc
    limit ${limit + moved.size}`)
  const holdings = found
    .map((row) => ({
      address: column.hex(row, 'address'),
      balance: column.bigint(row, 'balance'),
    }))
    .filter(({ address }) => !moved.has(address))
  if (moved.size === 0) return holdings
  const others = await holdingsBefore(connection, scope, moved)
  const due = others.filter(
    (each) => each.balance > 0n && (after === undefined || isLarger(after, each)),
  )
  return [...holdings, ...due].sort((a, b) => (isLarger(a, b) ? -1 : 1)).slice(0, limit)
}

const LEAST = toStored(1n)

export function isLarger(a: Holding, b: Holding): boolean {
  return a.balance === b.balance ? a.address > b.address : a.balance > b.balance
}

async function holdingsBefore(
  connection: Connection,
  scope: Scope,
  moved: MovedSince,
): Promise<readonly Holding[]> {
  const now = await readBalancesOf(connection, scope, [...moved.keys()])
  return [...moved].map(([address, { change }]) => ({
    address,
    balance: (now.get(address) ?? 0n) - change,
  }))
}

export async function readBalancesOf(
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
export async function rankOf(
  connection: Connection,
  scope: Scope,
  {
    own,
    moved,
    leftOut,
  }: {
    readonly own: Holding
    readonly moved: MovedSince
    readonly leftOut: readonly Address[]
  },
): Promise<number | null> {
  const isAhead = (each: Holding) => isLarger(each, own)
  const others = [...new Set([...leftOut, ...moved.keys()])]
  // Counts enough that taking off the others leaves all ranks that are shown.
  const [row] = await connection.run(sql`
    select count(*) as ahead from (
      select address from ${source(scope)}
        and (balance, address) > (${toStored(own.balance)}, ${own.address})
      order by balance desc, address desc
      limit ${RANKED_MAX + others.length}) as larger`)
  const now = await readBalancesOf(connection, scope, others)
  let ahead = row === undefined ? 0 : column.integer(row, 'ahead')
  for (const address of others) {
    const balance = now.get(address) ?? 0n
    const before = balance - (moved.get(address)?.change ?? 0n)
    if (isAhead({ address, balance })) ahead -= 1
    if (isAhead({ address, balance: before }) && !leftOut.includes(address)) ahead += 1
  }
  return ahead < RANKED_MAX ? ahead + 1 : null
}

export interface Seen {
  /** The first UTC day at whose end it held any. */
  readonly firstUnix: number | null
  readonly lastUnix: number | null
}

/** A snapshot's own day is judged by its block, since later ones may still turn it. */
export async function readSeen(
  connection: Connection,
  { token, chainIds }: Scope,
  {
    addresses,
    moved,
    snapshot,
  }: {
    readonly addresses: readonly Address[]
    readonly moved: MovedSince
    readonly snapshot: AsOfSnapshot | undefined
  },
): Promise<ReadonlyMap<Address, Seen>> {
  if (addresses.length === 0) return new Map()
  const areTheirs = inKeys(
    KEY,
    addresses.map((address) => [token, address]),
  )
  const found = await connection.run(sql`
    select address, chain_id, since_unix as first_unix, last_unix from balances where ${areTheirs}
    union all
    select address, chain_id, min(from_unix), cast(null as bigint) from holder_spans
    where ${areTheirs} group by address, chain_id`)
  const own = Map.groupBy(found, (row) => `${row.address}|${row.chain_id}`)
  return new Map(
    addresses.map((address) => {
      const seen = chainIds.map((chainId) =>
        seenOn(own.get(`${address}|${chainId}`) ?? [], {
          movedFrom: moved.get(address)?.last.get(chainId),
          atUnix: snapshot?.get(chainId)?.unix,
        }),
      )
      const firstUnix = extreme(
        seen.map((each) => each.firstUnix),
        Math.min,
      )
      const lastUnix = extreme(
        seen.map((each) => each.lastUnix),
        Math.max,
      )
      return [address, { firstUnix, lastUnix }]
    }),
  )
}

/** `movedFrom` is the last transfer up to the snapshot of a wallet that moved since. */
function seenOn(
  rows: readonly Row[],
  {
    movedFrom,
    atUnix,
  }: { readonly movedFrom: number | null | undefined; readonly atUnix: number | undefined },
): Seen {
  const stored = rows.map((row) => column.integerOrNull(row, 'last_unix'))
  const lastUnix = movedFrom === undefined ? extreme(stored, Math.max) : movedFrom
  const days = rows.map((row) => column.integerOrNull(row, 'first_unix'))
  if (atUnix === undefined) return { firstUnix: extreme(days, Math.min), lastUnix }
  const today = startOfDay(atUnix)
  const earlier = days.filter((day) => day !== null && day < today)
  return { firstUnix: extreme(earlier, Math.min) ?? (lastUnix === null ? null : today), lastUnix }
}

function extreme(
  values: readonly (number | null)[],
  choose: (...values: number[]) => number,
): number | null {
  const known = values.filter((each) => each !== null)
  return known.length === 0 ? null : choose(...known)
}
