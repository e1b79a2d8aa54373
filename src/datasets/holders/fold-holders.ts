import type { Address } from '#domain/address.ts'
import type { Change } from '#indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import { groupBy } from '#lib/group-by.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { type HolderDay, replaceDays, turningDays } from './holder-days.ts'

/** One address whose day ends on the changed chain are known anew from a day on. */
export interface HolderChange {
  readonly token: string
  readonly address: Address
  readonly fromDay: number
  readonly ends: readonly { readonly dayUnix: number; readonly holds: boolean }[]
}

/** Folds changed day ends into the holder counts; a wallet on two chains is one holder. */
export async function foldHolders(change: Change, changes: readonly HolderChange[]): Promise<void> {
  const turns = new Map<string, Turns>()
  for (const part of chunks(changes, ROWS_PER_STATEMENT)) await foldPart(change, part, turns)
  await foldTurns(
    change,
    [...turns.values()].filter(({ gained, lost }) => gained !== 0 || lost !== 0),
  )
}

/** Wallets that became or ceased to be holders of a token, on a day or in all. */
interface Turns {
  readonly token: string
  readonly grain: string
  readonly bucketUnix: number
  gained: number
  lost: number
}

async function foldPart(
  change: Change,
  part: readonly HolderChange[],
  turns: Map<string, Turns>,
): Promise<void> {
  const keys = part.map(({ token, address }) => [token, address])
  const found = await change.connection.run(sql`
    select token, address, chain_id, day_unix, holds from holder_days
    where ${inKeys({ token: 'text', address: 'text' }, keys)}`)
  const stored = groupBy(found, (row) => `${row.token}|${row.address}`)
  const removed: (string | number)[][] = []
  const added: (string | number)[][] = []
  for (const each of part) {
    const before = (stored.get(`${each.token}|${each.address}`) ?? []).map(toDay)
    const after = replaceDays(before, change.chainId, each.fromDay, each.ends)
    for (const day of minus(before, after))
      removed.push([each.token, each.address, change.chainId, day.dayUnix])
    for (const day of minus(after, before))
      added.push([each.token, each.address, change.chainId, day.dayUnix, Number(day.holds)])
    countTurns(turns, each.token, turningDays(before), -1)
    countTurns(turns, each.token, turningDays(after), 1)
  }
  await writeDays(change, removed, added)
}

function toDay(row: Readonly<Record<string, unknown>>): HolderDay {
  return {
    chainId: column.integer(row, 'chain_id'),
    dayUnix: column.integer(row, 'day_unix'),
    holds: column.flag(row, 'holds'),
  }
}

function minus(days: readonly HolderDay[], others: readonly HolderDay[]): readonly HolderDay[] {
  return days.filter(
    (day) =>
      !others.some(
        (other) =>
          other.chainId === day.chainId &&
          other.dayUnix === day.dayUnix &&
          other.holds === day.holds,
      ),
  )
}

function countTurns(
  turns: Map<string, Turns>,
  token: string,
  days: ReadonlyMap<number, 1 | -1>,
  sign: 1 | -1,
): void {
  for (const [dayUnix, direction] of days)
    for (const [grain, bucketUnix] of [
      ['day', dayUnix],
      ['total', 0],
    ] as const) {
      const key = `${token}|${grain}|${bucketUnix}`
      const entry = turns.get(key) ?? { token, grain, bucketUnix, gained: 0, lost: 0 }
      if (direction === 1) entry.gained += sign
      else entry.lost += sign
      turns.set(key, entry)
    }
}

async function writeDays(
  change: Change,
  removed: readonly (readonly (string | number)[])[],
  added: readonly (readonly (string | number)[])[],
): Promise<void> {
  const key = { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' } as const
  for (const part of chunks(removed, ROWS_PER_STATEMENT))
    await change.connection.run(sql`delete from holder_days where ${inKeys(key, part)}`)
  for (const part of chunks(added, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      insert into holder_days (token, address, chain_id, day_unix, holds) values ${rows(part)}`)
}

/** Adds wallets that became or ceased to be holders to the counts. */
export async function foldTurns(change: Change, turns: readonly Turns[]): Promise<void> {
  for (const part of chunks(turns, ROWS_PER_STATEMENT)) {
    const list = part.map((each) => [
      each.token,
      each.grain,
      each.bucketUnix,
      each.gained,
      each.lost,
    ])
    await change.connection.run(sql`
      insert into holder_buckets (token, grain, bucket_unix, gained, lost) values ${rows(list)}
      on conflict (token, grain, bucket_unix) do update set
        gained = holder_buckets.gained + excluded.gained,
        lost = holder_buckets.lost + excluded.lost`)
  }
  await change.connection.run(sql`delete from holder_buckets where gained = 0 and lost = 0`)
}
