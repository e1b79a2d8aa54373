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

/** Minus the money that came in. */
export function chainInAccount(chainId: number): string {
  return `chain_in:${chainId}`
}

/**
 * Holds the debt after a reorg took spent money; zero or below. Per wallet, so that moving money between keys
 * cannot evade it.
 */
export function receivableAccount(wallet: string): string {
  return `receivable:${wallet}`
}

/** The database keeps it at zero or above. */
export function isPrepaid(account: string): boolean {
  return account.startsWith('key:') || account.startsWith('bucket:')
}

export function balancesOf(accounts: readonly string[]): Sql {
  return sql`select account, micro_usd from balances where account ${inNames(accounts)}`
}

export async function readBalances(
  connection: Pick<Connection, 'run'>,
  accounts: readonly string[],
): Promise<Map<string, MicroUsd>> {
  if (accounts.length === 0) return new Map()
  const found = await connection.run(balancesOf(accounts))
  return new Map(found.map((row) => [column.text(row, 'account'), column.amount(row, 'micro_usd')]))
}

export async function lockBalance(connection: Connection, account: string): Promise<MicroUsd> {
  const [row] = await connection.run(sql`
    update balances set micro_usd = micro_usd where account = ${account} returning micro_usd`)
  return row === undefined ? 0n : column.amount(row, 'micro_usd')
}

/**
 * Whether the accounts were restored at this second or later. What was signed to be used once, and could be
 * used from then on, may have been used in the rows that are lost: refuse it.
 */
export async function restoredSince(
  reads: Pick<Connection, 'run'>,
  usableFromUnix: number,
): Promise<boolean> {
  const found = await reads.run(sql`
    select 1 from restores where restored_unix >= ${usableFromUnix} limit 1`)
  return found.length > 0
}

/** A backup holds a row without a time, which its first start as the accounts fills. */
export async function recordRestore(tx: Pick<Connection, 'run'>, nowUnix: number): Promise<void> {
  await tx.run(sql`update restores set restored_unix = ${nowUnix} where restored_unix is null`)
}
