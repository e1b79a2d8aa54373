import type { Address } from '#domain/address.ts'
import type { Change } from '#indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/u256.ts'
import type { BulkInsert } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, type SqlValue, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { foldSupplyDays } from '../fold-supply.ts'
import { type Changed, type TokenHistory, unpackTurn } from './token-history.ts'

const BALANCES: BulkInsert = {
  table: 'balances',
  columns: { token: 'text', address: 'text', chain_id: 'bigint', balance: 'text' },
  conflict: 'on conflict (token, address, chain_id) do update set balance = excluded.balance',
}

const HOLDER_DAYS: BulkInsert = {
  table: 'holder_days',
  columns: {
    token: 'text',
    address: 'text',
    chain_id: 'bigint',
    day_unix: 'bigint',
    holds: 'bigint',
  },
}

/** Stores what changed; gives an address that sent more than it had, if there is one. */
export async function flushToken(
  change: Change,
  history: TokenHistory,
): Promise<Address | undefined> {
  const changed = history.drain()
  if (changed.negative !== undefined) return history.addresses.address(changed.negative)
  await flushBalances(change, history, changed)
  await flushDays(change, history, changed)
  await foldSupplyDays(change, history.symbol, changed.supply)
  return undefined
}

async function flushBalances(
  change: Change,
  history: TokenHistory,
  { emptied, moved }: Changed,
): Promise<void> {
  const { addresses, symbol } = history
  for (const part of chunks([...emptied], ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      delete from balances where chain_id = ${change.chainId}
        and ${inKeys(
          { token: 'text', address: 'text' },
          part.map((id) => [symbol, addresses.address(id)]),
        )}`)
  await change.connection.insert(BALANCES, balanceRows(change, history, moved))
}

/** Whoever holds none has no row. */
function* balanceRows(
  change: Change,
  history: TokenHistory,
  moved: Changed['moved'],
): Iterable<readonly SqlValue[]> {
  const { addresses, balances, symbol } = history
  for (const id of moved) {
    const isStored = balances.isPositive(id)
    history.setStored(id, isStored)
    if (isStored) yield [symbol, addresses.address(id), change.chainId, toStored(balances.get(id))]
  }
}

async function flushDays(
  { chainId, connection }: Change,
  history: TokenHistory,
  { unlisted, turns }: Changed,
): Promise<void> {
  const { addresses, symbol } = history
  const key = { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' } as const
  const dropped = Array.from(unlisted, unpackTurn)
  for (const part of chunks(dropped, ROWS_PER_STATEMENT))
    await connection.run(sql`
      delete from holder_days where ${inKeys(
        key,
        part.map((turn) => [symbol, addresses.address(turn.id), chainId, turn.dayUnix]),
      )}`)
  await connection.insert(HOLDER_DAYS, dayRows(chainId, history, turns))
}

function* dayRows(
  chainId: number,
  { addresses, symbol }: TokenHistory,
  turns: Changed['turns'],
): Iterable<readonly SqlValue[]> {
  for (const each of turns) {
    const { id, dayUnix, holds, listed } = unpackTurn(each)
    if (listed) yield [symbol, addresses.address(id), chainId, dayUnix, Number(holds)]
  }
}
