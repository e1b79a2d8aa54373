import { setImmediate } from 'node:timers/promises'
import type { MicroUsd } from '#domain/money.ts'
import type { Engine } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'

export interface LedgerSums {
  /** The sum of all postings; zero unless money was made or lost. */
  readonly postings: MicroUsd
  readonly negative: number
}

/** About a millisecond each on SQLite, whose reads hold the thread. */
const PAGE = 1_000

/** Reads pages without a common snapshot: entries never change, and each sums to zero. */
export async function sumLedger(engine: Pick<Engine, 'read'>): Promise<LedgerSums> {
  return { postings: await sumPostings(engine), negative: await countNegative(engine) }
}

async function sumPostings(engine: Pick<Engine, 'read'>): Promise<MicroUsd> {
  let sum = 0n
  for (let entry = '', line = -1; ; await setImmediate()) {
    const rows = await engine.read(sql`
      select entry_id, line, micro_usd from postings
      where (entry_id, line) > (${entry}, ${line})
      order by entry_id, line limit ${PAGE}`)
    for (const row of rows) sum += column.amount(row, 'micro_usd')
    const last = rows.at(-1)
    if (last === undefined) return sum
    entry = column.text(last, 'entry_id')
    line = column.integer(last, 'line')
  }
}

async function countNegative(engine: Pick<Engine, 'read'>): Promise<number> {
  let count = 0
  for (let account = ''; ; await setImmediate()) {
    const rows = await engine.read(sql`
      select account, prepaid, micro_usd from balances
      where account > ${account} order by account limit ${PAGE}`)
    for (const row of rows)
      if (column.integer(row, 'prepaid') === 1 && column.amount(row, 'micro_usd') < 0n) count += 1
    const last = rows.at(-1)
    if (last === undefined) return count
    account = column.text(last, 'account')
  }
}
