import type { Address } from '#domain/address.ts'
import type { Change } from '#indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/u256.ts'
import type { BulkInsert } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, type SqlValue, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { foldSupplyDays } from '../fold-supply.ts'
import { type TokenHistory, unpackTurn } from './token-history.ts'

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
  const { moved, turns, supply } = history.drain()
  const negative = moved.find((id) => history.balances.isNegative(id))
  if (negative !== undefined) return history.addresses.address(negative)
  await flushBalances(change, history, moved)
  await flushDays(change, history, turns)
  await foldSupplyDays(change, history.symbol, supply)
  return undefined
}

async function flushBalances(
  change: Change,
  history: TokenHistory,
  moved: readonly number[],
): Promise<void> {
  const { addresses, balances, symbol } = history
  const emptied = moved.filter((id) => !balances.isPositive(id) && history.isStored(id))
  for (const part of chunks(emptied, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      delete from balances where chain_id = ${change.chainId}
        and ${inKeys(
          { token: 'text', address: 'text' },
          part.map((id) => [symbol, addresses.address(id)]),
        )}`)
  await change.connection.insert(BALANCES, rowsOf(change, history, moved))
  for (const id of moved) history.setStored(id, balances.isPositive(id))
}

function* rowsOf(
  change: Change,
  { addresses, balances, symbol }: TokenHistory,
  moved: readonly number[],
): Iterable<readonly SqlValue[]> {
  for (const id of moved)
    if (balances.isPositive(id))
      yield [symbol, addresses.address(id), change.chainId, toStored(balances.get(id))]
}

async function flushDays(
  change: Change,
  { addresses, symbol }: TokenHistory,
  turns: ReturnType<TokenHistory['drain']>['turns'],
): Promise<void> {
  const { chainId, connection } = change
  const dropped = turns.filter((turn) => !unpackTurn(turn).listed).map(unpackTurn)
  const key = { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' } as const
  for (const part of chunks(dropped, ROWS_PER_STATEMENT))
    await connection.run(sql`
      delete from holder_days where ${inKeys(
        key,
        part.map((turn) => [symbol, addresses.address(turn.id), chainId, turn.dayUnix]),
      )}`)
  await connection.insert(HOLDER_DAYS, dayRowsOf(chainId, { addresses, symbol }, turns))
}

function* dayRowsOf(
  chainId: number,
  { addresses, symbol }: Pick<TokenHistory, 'addresses' | 'symbol'>,
  turns: readonly number[],
): Iterable<readonly SqlValue[]> {
  for (const each of turns) {
    const { id, dayUnix, holds, listed } = unpackTurn(each)
    if (listed) yield [symbol, addresses.address(id), chainId, dayUnix, Number(holds)]
  }
}
