import type { MicroUsd } from '#base/money.ts'
import type { Connection } from '#db/engine.ts'
import { column, inNames, type Sql, sql } from '#db/sql.ts'

export function keyAccount(publicId: string): string {
  return `key:${publicId}`
}

export function keyOfAccount(account: string): string | undefined {
  const prefix = keyAccount('')
  return account.startsWith(prefix) ? account.slice(prefix.length) : undefined
}

export function bucketAccount(addressBucket: string): string {
  return `bucket:${addressBucket}`
}

/** External account of a chain; its balance is minus the money that came in. */
export function chainInAccount(chainId: number): string {
  return `chain_in:${chainId}`
}

/**
 * Holds a wallet's debt (zero or below) after a reorg removed money it had spent. It is per wallet, because money can
 * move between keys.
 */
export function receivableAccount(wallet: string): string {
  return `receivable:${wallet}`
}

/** A database guard keeps prepaid accounts at zero or above. */
export function isPrepaid(account: string): boolean {
  return account.startsWith('key:') || account.startsWith('bucket:')
}

export function selectBalances(accounts: readonly string[]): Sql {
  return sql`select account, micro_usd from balances where account ${inNames(accounts)}`
}

export async function readBalances(
  connection: Pick<Connection, 'run'>,
  accounts: readonly string[],
): Promise<Map<string, MicroUsd>> {
  if (accounts.length === 0) return new Map()
  const found = await connection.run(selectBalances(accounts))
  return new Map(found.map((row) => [column.text(row, 'account'), column.amount(row, 'micro_usd')]))
}

export async function lockBalance(connection: Connection, account: string): Promise<MicroUsd> {
  const [row] = await connection.run(sql`
    update balances set micro_usd = micro_usd where account = ${account} returning micro_usd`)
  return row === undefined ? 0n : column.amount(row, 'micro_usd')
}

/**
 * Whether the accounts were restored at or after this second. A one-time message from before then may have been used
 * in the lost rows, so refuse it.
 */
export async function restoredSince(
  reads: Pick<Connection, 'run'>,
  usableFromUnix: number,
): Promise<boolean> {
  const found = await reads.run(sql`
    select 1 from restores where restored_unix >= ${usableFromUnix} limit 1`)
  return found.length > 0
}

/** Fills the row without a time that every backup carries; the first start after a restore calls this. */
export async function recordRestore(tx: Pick<Connection, 'run'>, nowUnix: number): Promise<void> {
  await tx.run(sql`update restores set restored_unix = ${nowUnix} where restored_unix is null`)
}
