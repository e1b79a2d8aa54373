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

type PostOutcome = 'created' | 'exists' | 'insufficient'

/**
 * Posts in the caller's transaction. Returns `insufficient`, and writes nothing, if a prepaid account would go below
 * zero. Throws if the id has a different entry.
 */
export async function post(connection: Connection, entry: Entry): Promise<PostOutcome> {
  assertBalanced(entry)
  if (await isPosted(connection, entry)) return 'exists'
  const applied: Posting[] = []
  for (const change of netChanges(entry)) {
    if (await changeBalance(connection, change)) applied.push(change)
    else {
      await takeBack(connection, applied)
      return 'insufficient'
    }
  }
  if (await recordEntry(connection, entry)) return 'created'
  await takeBack(connection, applied)
  return 'exists'
}

/** Returns false if already posted. Called after its postings are written, so that a trigger can check their sum. */
async function recordEntry(connection: Connection, entry: Entry): Promise<boolean> {
  const { id, kind, reference, createdUnix, postings } = entry
  const lines = postings.map((each, line) => [id, line, each.account, each.microUsd])
  const created = await connection.run(sql`
    insert into postings (entry_id, line, account, micro_usd) values ${rows(lines)}
    on conflict (entry_id, line) do nothing returning line`)
  if (created.length === 0) return false
  assert(created.length === lines.length, `another entry has the id ${id}`)
  await connection.run(sql`
    insert into journal_entries (id, kind, reference, created_unix)
    values (${id}, ${kind}, ${reference}, ${createdUnix})`)
  return true
}

async function changeBalance(connection: Connection, change: Posting): Promise<boolean> {
  const { account, microUsd } = change
  if (!isPrepaid(account) || microUsd > 0n) {
    const [row] = await connection.run(sql`
      insert into balances (account, prepaid, micro_usd)
      values (${account}, ${isPrepaid(account) ? 1 : 0}, ${microUsd})
      on conflict (account) do update set micro_usd = balances.micro_usd + excluded.micro_usd
      returning micro_usd`)
    // Balances are read as exact numbers, so larger ones are refused.
    assert(row !== undefined, `${account} was changed`)
    column.amount(row, 'micro_usd')
    return true
  }
  const changed = await connection.run(sql`
    update balances set micro_usd = micro_usd - ${-microUsd}
    where account = ${account} and micro_usd >= ${-microUsd} returning account`)
  return changed.length === 1
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

async function isPosted(connection: Connection, entry: Entry): Promise<boolean> {
  const posted = await connection.run(sql`
    select journal_entries.kind, postings.account, postings.micro_usd
    from journal_entries join postings on postings.entry_id = journal_entries.id
    where journal_entries.id = ${entry.id} order by postings.line`)
  if (posted.length === 0) return false
  const same =
    posted.length === entry.postings.length &&
    entry.postings.every((posting, line) => {
      const row = posted[line]
      return (
        row !== undefined &&
        column.text(row, 'kind') === entry.kind &&
        column.text(row, 'account') === posting.account &&
        column.amount(row, 'micro_usd') === posting.microUsd
      )
    })
  assert(same, `another entry has the id ${entry.id}`)
  return true
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

async function takeBack(connection: Connection, applied: readonly Posting[]): Promise<void> {
  for (const { account, microUsd } of applied) {
    const done = await changeBalance(connection, { account, microUsd: -microUsd })
    assert(done, `the balance of ${account} changed under a lock`)
  }
}
