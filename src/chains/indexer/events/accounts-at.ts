import type { Address } from '#domain/address.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, type Sql, sql } from '#store/sql.ts'
import type { AsOfSnapshot, SnapshotBlock } from '../as-of-snapshot.ts'
import type { Contribution } from './event.ts'
import { readContribution } from './store-events.ts'
import { sumTotals } from './sum-windows.ts'

export interface AccountSums {
  readonly address: Address
  readonly amount: bigint
  readonly events: number
  readonly firstUnix: number
  readonly lastUnix: number
}

export type Accounts = ReadonlyMap<Address, AccountSums>

export interface EventsAsked {
  readonly dataset: string
  readonly token?: string
  readonly account?: Address
  readonly snapshot: AsOfSnapshot
}

/** Other answers wait while so many are read. */
export const AT_ONCE_MAX = 2_000

/** Sums of what followed the snapshot; undefined if that is too much to read at once. */
export async function accountsAfter(
  connection: Connection,
  asked: EventsAsked,
): Promise<Accounts | undefined> {
  const accounts = new Map<Address, AccountSums>()
  let left = AT_ONCE_MAX
  const totals = await sumTotals(connection, asked.dataset)
  const chainIds = [...asked.snapshot.keys(), ...totals.map((each) => each.chainId)]
  for (const chainId of new Set(chainIds)) {
    // All of a chain without a block there followed.
    const { number = -1, unix = 0 } = asked.snapshot.get(chainId) ?? {}
    const found = await connection.run(sql`
      select ${OF_ACCOUNTS} ${countedOf(asked, chainId)}
        and timestamp_unix >= ${unix} and block_number > ${number}
      order by timestamp_unix limit ${left + 1}`)
    left -= found.length
    if (left < 0) return undefined
    for (const row of found) add(accounts, row)
  }
  return accounts
}

export async function eventsUpTo(
  connection: Connection,
  asked: EventsAsked,
  max: number,
): Promise<readonly Contribution[] | undefined> {
  const events: Contribution[] = []
  for (const [chainId, block] of asked.snapshot) {
    const limit = max + 1 - events.length
    const page = { chainId, block, after: empty, limit, columns: OF_EVENTS }
    for (const row of await connection.run(pageOf(asked, page))) events.push(readContribution(row))
    if (events.length > max) return undefined
  }
  return events
}

export async function allEventsUpTo(
  connection: Connection,
  asked: EventsAsked,
): Promise<readonly Contribution[]> {
  const events: Contribution[] = []
  await forEachUpTo(connection, asked, {
    columns: OF_EVENTS,
    take: (row) => events.push(readContribution(row)),
  })
  return events
}

export async function accountsUpTo(connection: Connection, asked: EventsAsked): Promise<Accounts> {
  const accounts = new Map<Address, AccountSums>()
  await forEachUpTo(connection, asked, {
    columns: OF_ACCOUNTS,
    take: (row) => add(accounts, row),
  })
  return accounts
}

/** Small enough not to delay other answers. */
const PAGE = 1_000

/** Returns the counted events of accounts up to the snapshot, each chain oldest first. */
async function forEachUpTo(
  connection: Connection,
  asked: EventsAsked,
  { columns, take }: { readonly columns: Sql; readonly take: (row: Row) => void },
): Promise<void> {
  for (const [chainId, block] of asked.snapshot)
    for (let after: Sql | undefined = empty; after !== undefined; ) {
      const page: readonly Row[] = await connection.run(
        pageOf(asked, { chainId, block, after, limit: PAGE, columns }),
      )
      for (const row of page) take(row)
      after = page.length < PAGE ? undefined : afterRow(page.at(-1))
    }
}

interface EventPage {
  readonly chainId: number
  readonly block: SnapshotBlock
  readonly after: Sql
  readonly limit: number
  readonly columns: Sql
}

function pageOf(asked: EventsAsked, { chainId, block, after, limit, columns }: EventPage): Sql {
  return sql`
    select ${columns} ${countedOf(asked, chainId)}
      and timestamp_unix <= ${block.unix} and block_number <= ${block.number}
    ${after} order by timestamp_unix, block_number, place limit ${limit}`
}

function afterRow(row: Row | undefined): Sql | undefined {
  if (row === undefined) return undefined
  const [unix, block] = [column.integer(row, 'timestamp_unix'), column.integer(row, 'block_number')]
  return sql`and (timestamp_unix, block_number, place)
    > (${unix}, ${block}, ${column.integer(row, 'place')})`
}

const OF_ACCOUNTS = sql`account, amount, timestamp_unix, block_number, place`
const OF_EVENTS = sql`chain_id, token, usd, ${OF_ACCOUNTS}`

function countedOf({ dataset, token, account }: EventsAsked, chainId: number): Sql {
  return sql`
    from events where dataset = ${dataset} and chain_id = ${chainId}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${account === undefined ? empty : sql`and account = ${account}`}
      and counted = 1 and account is not null`
}

function add(accounts: Map<Address, AccountSums>, row: Row): void {
  const address = column.hex(row, 'account')
  const unix = column.integer(row, 'timestamp_unix')
  const before = accounts.get(address)
  accounts.set(address, {
    address,
    amount: (before?.amount ?? 0n) + column.bigint(row, 'amount'),
    events: (before?.events ?? 0) + 1,
    firstUnix: Math.min(before?.firstUnix ?? unix, unix),
    lastUnix: Math.max(before?.lastUnix ?? unix, unix),
  })
}
