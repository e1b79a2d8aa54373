import type { Change } from '#indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import type { BulkInsert } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { foldTurns } from '../fold-holders.ts'
import { foldSupplyDays } from '../fold-supply.ts'
import { ADDRESS_WORDS } from './address-table.ts'
import { VALUE_LIMBS } from './balance-columns.ts'
import type { Changed } from './token-history.ts'

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

/** Stores what changed of a token, but not how many hold it: that may depend on other chains. */
export async function storeToken(change: Change, token: string, changed: Changed): Promise<void> {
  await dropEmptied(change, token, changed.emptied)
  await storeBalances(change, token, changed.holders)
  await dropDays(change, token, changed.unlisted)
  await storeDays(change, token, changed.days)
  await foldSupplyDays(change, token, changed.supply)
}

async function dropEmptied(
  { connection, chainId }: Change,
  token: string,
  emptied: Changed['emptied'],
): Promise<void> {
  for (const part of chunks(emptied, ROWS_PER_STATEMENT)) {
    const keys = part.map((address) => [token, address])
    await connection.run(sql`
      delete from balances where chain_id = ${chainId}
        and ${inKeys({ token: 'text', address: 'text' }, keys)}`)
  }
}

async function storeBalances(
  { connection, chainId }: Change,
  token: string,
  { count, addresses, balances }: Changed['holders'],
): Promise<void> {
  await connection.insert(BALANCES, {
    count,
    columns: [
      { kind: 'same', value: token },
      { kind: 'hex', words: addresses, width: ADDRESS_WORDS },
      { kind: 'same', value: chainId },
      { kind: 'uint', words: balances, width: VALUE_LIMBS },
    ],
  })
}

async function dropDays(
  { connection, chainId }: Change,
  token: string,
  unlisted: Changed['unlisted'],
): Promise<void> {
  const key = { token: 'text', address: 'text', chain_id: 'bigint', day_unix: 'bigint' } as const
  for (const part of chunks(unlisted, ROWS_PER_STATEMENT)) {
    const keys = part.map(({ address, dayUnix }) => [token, address, chainId, dayUnix])
    await connection.run(sql`delete from holder_days where ${inKeys(key, keys)}`)
  }
}

async function storeDays(
  { connection, chainId }: Change,
  token: string,
  { count, addresses, unix, holds }: Changed['days'],
): Promise<void> {
  await connection.insert(HOLDER_DAYS, {
    count,
    columns: [
      { kind: 'same', value: token },
      { kind: 'hex', words: addresses, width: ADDRESS_WORDS },
      { kind: 'same', value: chainId },
      { kind: 'numbers', values: unix },
      { kind: 'numbers', values: holds },
    ],
  })
}

/** Folds the holders won and lost on the only chain of a token into the counts. */
export async function storeHolderDays(
  change: Change,
  token: string,
  days: Changed['holderDays'],
): Promise<void> {
  const turns = [...days].map(([bucketUnix, counts]) => ({
    token,
    grain: 'day',
    bucketUnix,
    ...counts,
  }))
  const sum = (of: 'gained' | 'lost') => turns.reduce((total, each) => total + each[of], 0)
  const total = { token, grain: 'total', bucketUnix: 0, gained: sum('gained'), lost: sum('lost') }
  if (turns.length > 0) await foldTurns(change, [...turns, total])
}
