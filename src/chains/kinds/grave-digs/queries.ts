import { type AsOfSnapshot, withinSnapshot } from '#chains/indexer/as-of-snapshot.ts'
import type { Accounts } from '#chains/indexer/events/accounts-at.ts'
import { GRAVE_DIGS } from '#chains/kinds/grave-digs/kind.ts'
import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface Leader {
  readonly address: Address
  readonly amount: bigint
  readonly digs: number
  readonly firstUnix: number
  readonly lastUnix: number
}

/** Names the dataset as a literal, to match the partial index. */
export async function readLeaderboard(
  connection: Connection,
  input: { readonly token: string; readonly limit: number },
): Promise<readonly Leader[]> {
  const found = await connection.run(sql`
    select account, amount, events, first_unix, last_unix from event_account_sums
    where dataset = 'grave-digs' and token = ${input.token}
    order by amount desc, last_unix, account
    limit ${input.limit}`)
  return found.map((row) => ({
    address: column.hex(row, 'account'),
    amount: column.bigint(row, 'amount'),
    digs: column.integer(row, 'events'),
    firstUnix: column.integer(row, 'first_unix'),
    lastUnix: column.integer(row, 'last_unix'),
  }))
}

interface Ranking {
  readonly token: string
  readonly limit: number
}

export function rank(accounts: Accounts, limit: number): readonly Leader[] {
  const leaders = [...accounts.values()].map(({ events, ...each }) => ({ ...each, digs: events }))
  return leaders.sort(byRank).slice(0, limit)
}

/** Returns the ranking of today less what followed the snapshot. */
export async function readLeadersBefore(
  connection: Connection,
  { token, limit }: Ranking,
  { snapshot, later }: { readonly snapshot: AsOfSnapshot; readonly later: Accounts },
): Promise<readonly Leader[]> {
  // However many of them fall back, enough are left.
  const found = await readLeaderboard(connection, { token, limit: limit + later.size })
  const leaders = found.map((leader) => {
    const { amount = 0n, events = 0 } = later.get(leader.address) ?? {}
    return { ...leader, amount: leader.amount - amount, digs: leader.digs - events }
  })
  const ranked = leaders.filter(({ digs }) => digs > 0).sort(byRank)
  const least = ranked[limit - 1]?.amount ?? 0n
  const candidates = ranked.filter(({ amount }) => amount >= least)
  const dated: Leader[] = []
  for (const each of candidates)
    dated.push(
      later.has(each.address) ? await dateLeader(connection, each, { token, snapshot }) : each,
    )
  return dated.sort(byRank).slice(0, limit)
}

async function dateLeader(
  connection: Connection,
  leader: Leader,
  { token, snapshot }: { readonly token: string; readonly snapshot: AsOfSnapshot },
): Promise<Leader> {
  const [row] = await connection.run(sql`
    select min(timestamp_unix) as first_unix, max(timestamp_unix) as last_unix from events
    where dataset = ${GRAVE_DIGS} and account = ${leader.address} and token = ${token}
      and counted = 1 and ${withinSnapshot(snapshot)}`)
  if (row === undefined) return leader
  const [firstUnix, lastUnix] = [
    column.integer(row, 'first_unix'),
    column.integer(row, 'last_unix'),
  ]
  return { ...leader, firstUnix, lastUnix }
}

function byRank(a: Leader, b: Leader): number {
  if (a.amount !== b.amount) return a.amount > b.amount ? -1 : 1
  return a.lastUnix - b.lastUnix || (a.address < b.address ? -1 : 1)
}
