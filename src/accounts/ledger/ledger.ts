import assert from 'node:assert/strict'
import type { MicroUsd } from '#base/money.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, inNames, type Row, rows, type Sql, sql } from '#db/sql.ts'

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
  return toAmounts(await connection.run(selectBalances(accounts)))
}

/** Amounts by account. */
export function toAmounts(found: readonly Row[]): Map<string, MicroUsd> {
  return new Map(found.map((row) => [column.text(row, 'account'), column.amount(row, 'micro_usd')]))
}

/** Locks balances in the order that `post` uses, to avoid deadlocks. */
export async function lockBalances(
  connection: Connection,
  accounts: readonly string[],
): Promise<Map<string, MicroUsd>> {
  const locked = new Map<string, MicroUsd>()
  for (const account of accounts.toSorted()) {
    const [row] = await connection.run(sql`
      update balances set micro_usd = micro_usd where account = ${account} returning micro_usd`)
    locked.set(account, row === undefined ? 0n : column.amount(row, 'micro_usd'))
  }
  return locked
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

export interface Posting {
  readonly account: string
  readonly microUsd: MicroUsd
}

/** Postings of an entry sum to zero and never change. */
export interface Entry {
  readonly id: string
  readonly kind: 'credit' | 'reversal' | 'move'
  readonly reference: string
  readonly createdUnix: number
  readonly postings: readonly Posting[]
}

/**
 * Posts in the caller's transaction; returns false if this was posted before. Throws if the id has a different
 * entry, or a prepaid account would go below zero.
 */
export async function post(connection: Connection, entry: Entry): Promise<boolean> {
  assertBalanced(entry)
  const { id, kind, reference, createdUnix, postings } = entry
  const lines = postings.map((each, line) => [id, line, each.account, each.microUsd])
  const created = await connection.run(sql`
    insert into postings (entry_id, line, account, micro_usd) values ${rows(lines)}
    on conflict (entry_id, line) do nothing returning line`)
  if (created.length === 0) {
    await assertSame(connection, entry)
    return false
  }
  assert(created.length === lines.length, `another entry has the id ${id}`)
  for (const change of netChanges(entry)) await changeBalance(connection, change)
  // Comes after its postings, so that a trigger can check their sum.
  await connection.run(sql`
    insert into journal_entries (id, kind, reference, created_unix)
    values (${id}, ${kind}, ${reference}, ${createdUnix})`)
  return true
}

async function changeBalance(
  connection: Connection,
  { account, microUsd }: Posting,
): Promise<void> {
  const changed =
    isPrepaid(account) && microUsd < 0n
      ? sql`
          update balances set micro_usd = micro_usd - ${-microUsd}
          where account = ${account} and micro_usd >= ${-microUsd} returning micro_usd`
      : sql`
          insert into balances (account, micro_usd) values (${account}, ${microUsd})
          on conflict (account) do update set micro_usd = balances.micro_usd + excluded.micro_usd
          returning micro_usd`
  const [row] = await connection.run(changed)
  assert(row !== undefined, `${account} holds less than ${-microUsd}`)
}

export async function readPostings(connection: Connection, entryId: string): Promise<Posting[]> {
  const found = await connection.run(sql`
    select account, micro_usd from postings where entry_id = ${entryId} order by line`)
  return found.map((row) => ({
    account: column.text(row, 'account'),
    microUsd: column.amount(row, 'micro_usd'),
  }))
}

function assertBalanced(entry: Entry): void {
  const sum = entry.postings.reduce((total, each) => total + each.microUsd, 0n)
  assert(sum === 0n, `the postings of ${entry.id} sum to ${sum}`)
  assert(entry.postings.length >= 2, `${entry.id} has fewer than two postings`)
}

async function assertSame(connection: Connection, { id, postings }: Entry): Promise<void> {
  const name = ({ account, microUsd }: Posting) => `${account} ${microUsd}`
  const stored = await readPostings(connection, id)
  assert(stored.map(name).join() === postings.map(name).join(), `another entry has the id ${id}`)
}

/** Sorts postings by account, to avoid deadlocks. */
function netChanges(entry: Entry): Posting[] {
  const net = new Map<string, bigint>()
  for (const { account, microUsd } of entry.postings)
    net.set(account, (net.get(account) ?? 0n) + microUsd)
  return [...net]
    .map(([account, microUsd]) => ({ account, microUsd }))
    .filter((change) => change.microUsd !== 0n)
    .sort((a, b) => (a.account < b.account ? -1 : 1))
}

interface SpendInput {
  /** Calls by account. Each account must have been posted to before. */
  readonly calls: ReadonlyMap<string, number>
  readonly pricePerCall: MicroUsd
  /** Unix seconds. */
  readonly day: number
}

/**
 * Debits what each balance covers in one statement, so that replicas cannot double-spend, and returns the paid calls by
 * account. Calls have no journal entries; their daily sums are kept for ever.
 */
export async function spendCalls(
  connection: Connection,
  { calls, pricePerCall, day }: SpendInput,
): Promise<Map<string, number>> {
  const wanted = [...calls].sort(([a], [b]) => (a < b ? -1 : 1))
  const debited = await connection.insert(
    debitAt(pricePerCall),
    // Negative, so that an account without a row is granted nothing.
    wanted.map(([account, count]) => [account, -count]),
  )
  const spent = new Map(
    debited.map((row) => [
      column.text(row, 'account'),
      Math.max(0, column.integer(row, 'granted_calls')),
    ]),
  )
  const days = wanted.flatMap(([account]) => {
    const paid = spent.get(account) ?? 0
    return paid === 0 ? [] : [[day, account, pricePerCall, paid, BigInt(paid) * pricePerCall]]
  })
  if (days.length > 0) await connection.insert(SPENT, days)
  return spent
}

const debits = new Map<MicroUsd, BulkInsert>()

function debitAt(price: MicroUsd): BulkInsert {
  const granted = `case when balances.micro_usd >= -excluded.granted_calls * ${price}
    then -excluded.granted_calls else balances.micro_usd / ${price} end`
  const made = debits.get(price) ?? {
    table: 'balances',
    columns: { account: 'text', granted_calls: 'bigint' },
    constants: { micro_usd: 0 },
    conflict: `on conflict (account) do update set granted_calls = ${granted},
      micro_usd = balances.micro_usd - ${price} * (${granted})
      returning account, granted_calls`,
  }
  debits.set(price, made)
  return made
}

const SPENT: BulkInsert = {
  table: 'spend_days',
  columns: {
    day: 'bigint',
    account: 'text',
    price_micro_usd: 'bigint',
    calls: 'bigint',
    micro_usd: 'bigint',
  },
  conflict: `on conflict (day, account, price_micro_usd) do update set
    calls = spend_days.calls + excluded.calls, micro_usd = spend_days.micro_usd + excluded.micro_usd`,
}
