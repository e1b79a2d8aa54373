import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { readBalances } from '#ledger/balance.ts'
import { spendCalls } from '#ledger/spend.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission, MeterFigures } from './admission.ts'
import { addKeyUnits } from './key-day.ts'
import { recordBatch } from './meter-store.ts'
import { accountOf, type Tallied, Tally } from './tally.ts'
import { addPaid, readUsageDays, type Taken, takeUnits, wantedOf } from './usage-day.ts'

export interface Batch extends Tallied {
  /** Callers who only ask how they stand. */
  readonly figures: readonly Caller[]
}

export interface Decisions {
  readonly admissions: readonly Admission[]
  readonly figures: readonly MeterFigures[]
}

/** Decides a batch inside one transaction: free units first, then prepaid calls, in arrival order. */
export async function decideBatch(connection: Connection, batch: Batch): Promise<Decisions> {
  const { admits, day, pricePerCall } = batch
  const [taken] = await Promise.all([
    admits.length === 0 ? new Map<string, Taken>() : takeUnits(connection, day, wantedOf(admits)),
    admits.length === 0 ? undefined : recordBatch(connection, batch),
  ])
  const refused = beyondQuota(admits, taken)
  // Who is given a free unit is told of no balance.
  const accounts = [...refused, ...batch.figures].map(accountOf)
  const balances = await readBalances(connection, [...new Set(accounts)])
  const others = batch.figures.map((each) => each.bucket).filter((bucket) => !taken.has(bucket))
  const known = await readUsageDays(connection, day, [...new Set(others)])
  const calls = payable(refused, balances, pricePerCall)
  const spent = await spendCalls(connection, { calls, pricePerCall, day })
  const tally = new Tally(batch, { taken, balances, spent, known })
  const admissions = admits.map((caller) => tally.admit(caller))
  if (tally.paid.size > 0) await addPaid(connection, day, tally.paid)
  if (tally.keyUnits.size > 0) await addKeyUnits(connection, day, tally.keyUnits)
  return { admissions, figures: batch.figures.map((caller) => tally.figures(caller)) }
}

/** Callers for whom no free unit was left, in arrival order. */
function beyondQuota(admits: readonly Caller[], taken: ReadonlyMap<string, Taken>): Caller[] {
  const seen = new Map<string, number>()
  return admits.filter(({ bucket }) => {
    const before = seen.get(bucket) ?? 0
    seen.set(bucket, before + 1)
    return before >= (taken.get(bucket)?.granted ?? 0)
  })
}

/** Calls by account, of those accounts that hold the price of a call; the debit itself decides. */
function payable(
  callers: readonly Caller[],
  balances: ReadonlyMap<string, MicroUsd>,
  pricePerCall: MicroUsd,
): Map<string, number> {
  const calls = new Map<string, number>()
  for (const account of callers.map(accountOf))
    if ((balances.get(account) ?? 0n) >= pricePerCall)
      calls.set(account, (calls.get(account) ?? 0) + 1)
  return calls
}
