import type { MicroUsd } from '#domain/money.ts'
import type { Entry } from '#ledger/post.ts'
import { startOfDay } from '#lib/time.ts'
import type { Reads } from '#money/payments/reads.ts'
import type { Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** What one journal entry did to an account. */
export interface AccountEntry {
  readonly id: string
  readonly kind: Entry['kind']
  readonly reference: string
  readonly createdUnix: number
  /** The UTC day that it counts for; never changes. */
  readonly day: number
  readonly microUsd: MicroUsd
}

const PAGE = 1_000

/** Yields entries by id. Pages need no common snapshot: entries never change. */
export async function* readEntries(reads: Reads, account: string): AsyncIterable<AccountEntry> {
  for (let after = ''; ; ) {
    const rows = await reads.run(sql`
      select entries.id, entries.kind, entries.reference, entries.created_unix, own.micro_usd
      from (
        select entry_id, cast(sum(micro_usd) as bigint) as micro_usd from postings
        where account = ${account} and entry_id > ${after}
        group by entry_id order by entry_id limit ${PAGE}
      ) as own join journal_entries as entries on entries.id = own.entry_id
      order by entries.id`)
    for (const row of rows) yield toEntry(row)
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = column.text(last, 'id')
  }
}

function toEntry(row: Row): AccountEntry {
  const id = column.text(row, 'id')
  const reference = column.text(row, 'reference')
  const kind = column.text(row, 'kind') as Entry['kind']
  const createdUnix = column.integer(row, 'created_unix')
  // The first closing of a day counts for that day, a correction for the day it is booked.
  const spend = kind === 'calls' && id === reference ? parseSpend(reference) : undefined
  return {
    id,
    kind,
    reference,
    createdUnix,
    day: spend?.day ?? startOfDay(createdUnix),
    microUsd: column.amount(row, 'micro_usd'),
  }
}

export interface SpendDay {
  readonly day: number
  readonly date: string
  readonly price: MicroUsd
}

/** Parses `calls:<account>:<date>@<price>`. */
export function parseSpend(reference: string): SpendDay | undefined {
  const [, date, price] = /^calls:.+:(\d{4}-\d\d-\d\d)@(\d+)$/.exec(reference) ?? []
  if (date === undefined || price === undefined) return undefined
  return { day: Date.parse(`${date}T00:00:00Z`) / 1000, date, price: BigInt(price) }
}

/** The first day before `to` whose paid calls are not in the journal yet. */
export async function readOpenDay(
  reads: Reads,
  { account, to }: { readonly account: string; readonly to: number },
): Promise<number | undefined> {
  const [row] = await reads.run(sql`
    select min(day) as day from spend_days
    where account = ${account} and day < ${to} and closings = 0 and micro_usd <> 0`)
  return row === undefined ? undefined : (column.integerOrNull(row, 'day') ?? undefined)
}

export async function readOtherSides(
  reads: Reads,
  input: { readonly account: string; readonly ids: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const id of input.ids) {
    const rows = await reads.run(sql`
      select account from postings where entry_id = ${id} and account <> ${input.account}
      order by line limit 1`)
    for (const row of rows) found.set(id, column.text(row, 'account'))
  }
  return found
}
