import type { Change } from '#chains/indexer/dataset.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { startOfDay } from '#lib/time.ts'
import { column, ROWS_PER_STATEMENT, rows, sql, toStored } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import type { Movement } from './fold-balances.ts'

export interface SupplyChange {
  /** Sent from the zero address. */
  readonly minted: bigint
  /** Sent to the zero address. */
  readonly burned: bigint
  /** Into and out of non-circulating addresses, the zero address's own among them. */
  readonly locked: bigint
  readonly unlocked: bigint
}

export const NO_SUPPLY: SupplyChange = { minted: 0n, burned: 0n, locked: 0n, unlocked: 0n }

export function addSupply(a: SupplyChange, b: SupplyChange): SupplyChange {
  return {
    minted: a.minted + b.minted,
    burned: a.burned + b.burned,
    locked: a.locked + b.locked,
    unlocked: a.unlocked + b.unlocked,
  }
}

type Key = readonly [token: string, grain: string, bucketUnix: number]

export async function foldSupply(
  change: Change,
  movements: readonly Movement[],
  locked: ReadonlySet<Address>,
): Promise<void> {
  const deltas = new Map<string, { readonly key: Key; sums: SupplyChange }>()
  for (const { token, address, steps } of movements) {
    if (address !== ZERO_ADDRESS && !locked.has(address)) continue
    for (const { timestamp, received, sent, kept } of steps) {
      const sums =
        address === ZERO_ADDRESS
          ? { ...NO_SUPPLY, minted: sent, burned: received, locked: kept }
          : { ...NO_SUPPLY, locked: received, unlocked: sent }
      for (const key of [
        [token, 'day', startOfDay(timestamp)],
        [token, 'total', 0],
      ] as const) {
        const id = key.join('|')
        const before = deltas.get(id)?.sums ?? NO_SUPPLY
        deltas.set(id, { key, sums: addSupply(before, sums) })
      }
    }
  }
  for (const part of chunks([...deltas.values()], ROWS_PER_STATEMENT)) await foldRows(change, part)
}

const KEY = { token: 'text', grain: 'text', bucket_unix: 'bigint' } as const

async function foldRows(
  change: Change,
  deltas: readonly { readonly key: Key; readonly sums: SupplyChange }[],
): Promise<void> {
  const { connection, chainId } = change
  const stored = await connection.run(sql`
    select token, grain, bucket_unix, minted, burned, locked, unlocked from supply_buckets
    where chain_id = ${chainId} and ${inKeys(
      KEY,
      deltas.map(({ key }) => key),
    )}`)
  const before = new Map(
    stored.map((row) => [`${row.token}|${row.grain}|${row.bucket_unix}`, readSupply(row)]),
  )
  const after = deltas.map(({ key, sums }) => ({
    key,
    sums: addSupply(before.get(key.join('|')) ?? NO_SUPPLY, sums),
  }))
  const emptied = after.filter(({ sums }) => isNothing(sums))
  const kept = after.filter(({ sums }) => !isNothing(sums))
  if (emptied.length > 0)
    await connection.run(sql`
      delete from supply_buckets where chain_id = ${chainId}
        and ${inKeys(
          KEY,
          emptied.map(({ key }) => key),
        )}`)
  if (kept.length > 0)
    await connection.run(sql`
      insert into supply_buckets
        (token, grain, bucket_unix, chain_id, minted, burned, locked, unlocked)
      values ${rows(kept.map(({ key, sums }) => [...key, chainId, ...writeSupply(sums)]))}
      on conflict (token, chain_id, grain, bucket_unix) do update set
        minted = excluded.minted, burned = excluded.burned,
        locked = excluded.locked, unlocked = excluded.unlocked`)
}

export function readSupply(row: Readonly<Record<string, unknown>>): SupplyChange {
  return {
    minted: column.bigint(row, 'minted'),
    burned: column.bigint(row, 'burned'),
    locked: column.bigint(row, 'locked'),
    unlocked: column.bigint(row, 'unlocked'),
  }
}

function writeSupply(sums: SupplyChange): readonly string[] {
  return [sums.minted, sums.burned, sums.locked, sums.unlocked].map(toStored)
}

function isNothing(sums: SupplyChange): boolean {
  return sums.minted === 0n && sums.burned === 0n && sums.locked === 0n && sums.unlocked === 0n
}
