import assert from 'node:assert/strict'
import type { MicroUsd } from '#base/money.ts'
import type { Connection } from '#db/engine.ts'
import { column, rows, sql } from '#db/sql.ts'
import { isPrepaid } from './account.ts'

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
