import type { Address } from '#base/address.ts'
import { chunks } from '#base/chunks.ts'
import { startOfDay } from '#base/time.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, sql } from '#db/sql.ts'
import { inKeys } from '#db/typed-values.ts'
import type { Change } from '#index/dataset.ts'
import { type Addition, deleteRows, foldSums, type SumTable } from '#index/fold-sums.ts'
import type { HoldersSince, Movement } from './fold-balances.ts'

/** Replaces an address's day ends from `fromDay` on. */
export interface HolderChange {
  readonly token: string
  readonly address: Address
  readonly fromDay: number
  readonly ends: readonly { readonly dayUnix: number; readonly holds: boolean }[]
}

const HOLDER_BUCKETS: SumTable = {
  table: 'holder_buckets',
  key: { token: 'text', grain: 'text', bucket_unix: 'bigint' },
  sums: { gained: 'bigint', lost: 'bigint' },
}

const SPANS_KEY = {
  token: 'text',
  address: 'text',
  chain_id: 'bigint',
  from_unix: 'bigint',
} as const

const SPANS: BulkInsert = {
  table: 'holder_spans',
  columns: { ...SPANS_KEY, until_unix: 'bigint' },
}

/** A wallet on two chains is one holder. Returns since when each holds. */
export async function foldHolders(
  { connection, chainId }: Change,
  changes: readonly HolderChange[],
): Promise<HoldersSince> {
  const turns: Addition[] = []
  const since = new Map<string, number>()
  for (const part of chunks(changes, ROWS_PER_STATEMENT)) {
    const found = await readDays(connection, part)
    const stored = Map.groupBy(found, (row) => `${row.token}|${row.address}`)
    const removed: (string | number)[][] = []
    const added: (string | number)[][] = []
    for (const { token, address, fromDay, ends } of part) {
      const key = `${token}|${address}`
      const before = (stored.get(key) ?? []).map(toDay)
      const after = replaceDays(before, chainId, fromDay, ends)
      const [held, holds] = [toSpans(before, chainId), toSpans(after, chainId)]
      const toKey = ({ fromUnix }: HolderSpan) => [token, address, chainId, fromUnix]
      removed.push(...minus(held.ended, holds.ended).map(toKey))
      for (const span of minus(holds.ended, held.ended))
        added.push([...toKey(span), span.untilUnix])
      if (holds.sinceUnix !== undefined) since.set(key, holds.sinceUnix)
      turns.push(...countTurns(token, turningDays(before), -1n))
      turns.push(...countTurns(token, turningDays(after), 1n))
    }
    await deleteRows(connection, 'holder_spans', SPANS_KEY, removed)
    await connection.insert(SPANS, added)
  }
  await foldSums(connection, HOLDER_BUCKETS, turns)
  return since
}

function readDays(
  connection: Connection,
  wallets: readonly Pick<HolderChange, 'token' | 'address'>[],
): Promise<readonly Row[]> {
  const keys = wallets.map(({ token, address }) => [token, address])
  const areTheirs = inKeys({ token: 'text', address: 'text' }, keys)
  return connection.run(sql`
    select token, address, chain_id, since_unix as day_unix, 1 as holds
    from balances where since_unix is not null and ${areTheirs}
    union all select token, address, chain_id, from_unix, 1 from holder_spans where ${areTheirs}
    union all select token, address, chain_id, until_unix, 0 from holder_spans where ${areTheirs}`)
}

function toDay(row: Row): HolderDay {
  return {
    chainId: column.integer(row, 'chain_id'),
    dayUnix: column.integer(row, 'day_unix'),
    holds: column.flag(row, 'holds'),
  }
}

function minus(spans: readonly HolderSpan[], others: readonly HolderSpan[]): readonly HolderSpan[] {
  return spans.filter(
    ({ fromUnix, untilUnix }) =>
      !others.some((other) => other.fromUnix === fromUnix && other.untilUnix === untilUnix),
  )
}

function countTurns(
  token: string,
  days: ReadonlyMap<number, 1 | -1>,
  sign: 1n | -1n,
): readonly Addition[] {
  return [...days].flatMap(([dayUnix, direction]) => {
    const sums = direction === 1 ? [sign, 0n] : [0n, sign]
    return [
      { key: [token, 'day', dayUnix], sums },
      { key: [token, 'total', 0], sums },
    ]
  })
}

/** Whether an address holds at the end of a UTC day on a chain. */
export interface HolderDay {
  readonly chainId: number
  readonly dayUnix: number
  readonly holds: boolean
}

/** Returns each day with a movement, and whether anything is held at its end, oldest first. */
export function dayEnds(
  movement: Movement,
  balanceBefore: bigint,
): readonly { readonly dayUnix: number; readonly holds: boolean }[] {
  const ends = new Map<number, boolean>()
  let balance = balanceBefore
  for (const step of movement.steps) {
    balance += step.received - step.sent
    ends.set(startOfDay(step.timestamp), balance > 0n)
  }
  return [...ends].map(([dayUnix, holds]) => ({ dayUnix, holds }))
}

/**
 * Replaces one chain's days from `fromDay` on. A day is listed only if it ends differently from the
 * previous one.
 */
export function replaceDays(
  days: readonly HolderDay[],
  chainId: number,
  fromDay: number,
  ends: readonly { readonly dayUnix: number; readonly holds: boolean }[],
): readonly HolderDay[] {
  const kept = days.filter((day) => day.chainId !== chainId || day.dayUnix < fromDay)
  const own = kept.filter((day) => day.chainId === chainId).sort(byDay)
  let holds = own.at(-1)?.holds ?? false
  const turned: HolderDay[] = []
  for (const end of ends) {
    if (end.holds !== holds) turned.push({ chainId, ...end })
    holds = end.holds
  }
  return [...kept, ...turned]
}

interface HolderSpan {
  readonly fromUnix: number
  readonly untilUnix: number
}

/** Undefined `sinceUnix`: does not hold now. */
export function toSpans(
  days: readonly HolderDay[],
  chainId: number,
): { readonly ended: readonly HolderSpan[]; readonly sinceUnix: number | undefined } {
  const ended: HolderSpan[] = []
  let sinceUnix: number | undefined
  for (const { dayUnix, holds } of days.filter((day) => day.chainId === chainId).sort(byDay)) {
    if (!holds && sinceUnix !== undefined) ended.push({ fromUnix: sinceUnix, untilUnix: dayUnix })
    sinceUnix = holds ? dayUnix : undefined
  }
  return { ended, sinceUnix }
}

/** Across all chains: +1 began, -1 ceased. */
export function turningDays(days: readonly HolderDay[]): ReadonlyMap<number, 1 | -1> {
  const turns = new Map<number, 1 | -1>()
  const holding = new Set<number>()
  for (const day of [...days].sort(byDay)) {
    const before = holding.size > 0
    if (day.holds) holding.add(day.chainId)
    else holding.delete(day.chainId)
    const after = holding.size > 0
    // Opposite changes on two chains cancel out.
    if (before !== after && !turns.delete(day.dayUnix)) turns.set(day.dayUnix, after ? 1 : -1)
  }
  return turns
}

function byDay(a: HolderDay, b: HolderDay): number {
  return a.dayUnix - b.dayUnix
}
