import type { Change } from '#chains/indexer/dataset.ts'
import { chunks } from '#lib/chunks.ts'
import { free } from '#lib/free.ts'
import type { BulkInsert } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { foldTurns } from '../fold-holders.ts'
import { BALANCE_HOURS_KEY } from '../fold-hours.ts'
import { foldSupplyDays } from '../fold-supply.ts'
import { HOLDER_SPANS_KEY } from '../tables.ts'
import { ADDRESS_WORDS } from './address-table.ts'
import type { HeldRows } from './held-rows.ts'
import type { OpenedHours } from './hour-list.ts'
import type { Changed } from './token-history.ts'

const BALANCES: BulkInsert = {
  table: 'balances',
  columns: {
    token: 'text',
    address: 'text',
    chain_id: 'bigint',
    balance: 'text',
    since_unix: 'bigint',
    last_unix: 'bigint',
  },
  conflict: `on conflict (token, address, chain_id) do update set
    balance = excluded.balance, since_unix = excluded.since_unix, last_unix = excluded.last_unix`,
}

const HOLDER_SPANS: BulkInsert = {
  table: 'holder_spans',
  columns: { ...HOLDER_SPANS_KEY, until_unix: 'bigint' },
}

/** After a resume the hour may have a row, whose balance is older. */
const BALANCE_HOURS: BulkInsert = {
  table: 'balance_hours',
  columns: { ...BALANCE_HOURS_KEY, balance: 'text' },
  conflict: 'on conflict (token, address, chain_id, hour_unix) do nothing',
}

/** Bounds memory: queued rows are half as wide. */
const HELD_AT_ONCE = 32_768

/** Not the holder counts, which may depend on other chains. */
export async function storeToken(change: Change, token: string, changed: Changed): Promise<void> {
  await dropEmptied(change, token, changed.emptied)
  await storeBalances(change, token, changed.holders)
  await storeHours(change, token, changed.hours)
  await dropSpans(change, token, changed.resumed)
  await storeSpans(change, token, changed.ended)
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
  holders: HeldRows,
): Promise<void> {
  for (let from = 0; from < holders.count; from += HELD_AT_ONCE) {
    const { count, addresses, balances, since, last } = holders.part(from, from + HELD_AT_ONCE)
    await connection.insert(BALANCES, {
      count,
      columns: [
        { kind: 'same', value: token },
        { kind: 'hex', words: addresses, width: ADDRESS_WORDS },
        { kind: 'same', value: chainId },
        { kind: 'integer', ...balances },
        { kind: 'numbers', values: since },
        { kind: 'numbers', values: last },
      ],
    })
    free(addresses)
    free(balances.words)
    free(since)
    free(last)
  }
}

async function storeHours(
  { connection, chainId }: Change,
  token: string,
  opened: OpenedHours,
): Promise<void> {
  for (let from = 0; from < opened.count; from += HELD_AT_ONCE) {
    const { count, addresses, hours, balances } = opened.part(from, from + HELD_AT_ONCE)
    await connection.insert(BALANCE_HOURS, {
      count,
      columns: [
        { kind: 'same', value: token },
        { kind: 'hex', words: addresses, width: ADDRESS_WORDS },
        { kind: 'same', value: chainId },
        { kind: 'numbers', values: hours },
        { kind: 'integer', ...balances },
      ],
    })
    free(addresses)
    free(hours)
    free(balances.words)
  }
}

async function dropSpans(
  { connection, chainId }: Change,
  token: string,
  resumed: Changed['resumed'],
): Promise<void> {
  for (const part of chunks(resumed, ROWS_PER_STATEMENT)) {
    const keys = part.map(({ address, fromUnix }) => [token, address, chainId, fromUnix])
    await connection.run(sql`delete from holder_spans where ${inKeys(HOLDER_SPANS_KEY, keys)}`)
  }
}

async function storeSpans(
  { connection, chainId }: Change,
  token: string,
  { count, addresses, from, until }: Changed['ended'],
): Promise<void> {
  await connection.insert(HOLDER_SPANS, {
    count,
    columns: [
      { kind: 'same', value: token },
      { kind: 'hex', words: addresses, width: ADDRESS_WORDS },
      { kind: 'same', value: chainId },
      { kind: 'numbers', values: from },
      { kind: 'numbers', values: until },
    ],
  })
}

/** Called for tokens on one chain only. */
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
