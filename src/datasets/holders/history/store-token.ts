import type { Change } from '#indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/u256.ts'
import type { BulkInsert } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, type SqlValue, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { foldSupplyDays } from '../fold-supply.ts'
import { byAddress } from './by-address.ts'
import {
  type Changed,
  idOfTurn,
  isUnlisted,
  type TokenHistory,
  unpackTurn,
} from './token-history.ts'

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

/** Stores what changed of a token. */
export async function storeToken(
  change: Change,
  history: TokenHistory,
  changed: Changed,
): Promise<void> {
  await storeBalances(change, history, changed)
  await storeDays(change, history, changed)
  await foldSupplyDays(change, history.symbol, changed.supply)
}

async function storeBalances(
  change: Change,
  history: TokenHistory,
  changed: Changed,
): Promise<void> {
  const { addresses, symbol } = history
  for (const part of chunks(changed.emptied, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      delete from balances where chain_id = ${change.chainId}
        and ${inKeys(
          { token: 'text', address: 'text' },
          part.map((id) => [symbol, addresses.address(id)]),
        )}`)
  await change.connection.insert(BALANCES, balanceRows(change, history, changed))
}

function* balanceRows(
  { chainId }: Change,
  { addresses, symbol }: TokenHistory,
  { holders, balances }: Changed,
): Iterable<readonly SqlValue[]> {
  const idAt = (place: number) => holders[place] ?? 0
  for (const place of byAddress(addresses, holders.length, idAt))
    yield [symbol, addresses.address(idAt(place)), chainId, toStored(balances.get(place))]
}

async function storeDays(
  { chainId, connection }: Change,
  history: TokenHistory,
  { turns }: Changed,
): Promise<void> {
  const { addresses, symbol } = history
  const key = { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' } as const
  const dropped = Array.from(turns.filter(isUnlisted), unpackTurn)
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
  const idAt = (place: number) => idOfTurn(turns[place] ?? 0)
  for (const place of byAddress(addresses, turns.length, idAt)) {
    const { id, dayUnix, holds, listed } = unpackTurn(turns[place] ?? 0)
    if (listed) yield [symbol, addresses.address(id), chainId, dayUnix, Number(holds)]
  }
}
