import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { startOfDay } from '#base/time.ts'
import { column } from '#db/sql.ts'
import type { Change } from '#index/dataset.ts'
import { type Addition, foldSums, type SumTable } from '#index/fold-sums.ts'
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

const SUPPLY_BUCKETS: SumTable = {
  table: 'supply_buckets',
  key: { token: 'text', chain_id: 'bigint', grain: 'text', bucket_unix: 'bigint' },
  sums: { minted: 'text', burned: 'text', locked: 'text', unlocked: 'text' },
}

export async function foldSupply(
  { connection, chainId }: Change,
  movements: readonly Movement[],
  locked: ReadonlySet<Address>,
): Promise<void> {
  const moved = movements.filter(({ address }) => address === ZERO_ADDRESS || locked.has(address))
  const additions = moved.flatMap(({ token, address, steps }) =>
    steps.flatMap(({ timestamp, received, sent, kept }): readonly Addition[] => {
      const sums = address === ZERO_ADDRESS ? [sent, received, kept, 0n] : [0n, 0n, received, sent]
      return [
        { key: [token, chainId, 'day', startOfDay(timestamp)], sums },
        { key: [token, chainId, 'total', 0], sums },
      ]
    }),
  )
  await foldSums(connection, SUPPLY_BUCKETS, additions)
}

export function readSupply(row: Readonly<Record<string, unknown>>): SupplyChange {
  return {
    minted: column.bigint(row, 'minted'),
    burned: column.bigint(row, 'burned'),
    locked: column.bigint(row, 'locked'),
    unlocked: column.bigint(row, 'unlocked'),
  }
}
