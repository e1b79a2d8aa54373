import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Spent, spendCalls } from '#ledger/spend.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission, MeterFigures } from './admission.ts'
import { addKeyUnits } from './key-day.ts'
import { recordBatch } from './meter-store.ts'
import { readStanding, type Standing } from './standing.ts'
import { accountOf, type Counted, countedKeyOf, Tally } from './tally.ts'
import { addPaid, type Taken, takeUnits, wantedOf } from './usage-day.ts'

export interface Batch extends Counted {
  /** Callers who only ask for their figures. */
  readonly figures: readonly Caller[]
}

export interface Decisions {
  readonly admissions: readonly Admission[]
  readonly figures: readonly MeterFigures[]
}

const NOTHING_TAKEN: ReadonlyMap<string, Taken> = new Map()

const NOTHING_ASKED: Standing = { days: new Map(), balances: new Map() }

const NOTHING_SPENT: ReadonlyMap<string, Spent> = new Map()

/**
 * Decides a batch inside one transaction: free units first, then prepaid calls, in arrival order. At most
 * four statements where nothing is paid and seven where something is; rows are locked in the order
 * usage_days, key_days, balances, spend_days.
 */
export async function decideBatch(connection: Connection, batch: Batch): Promise<Decisions> {
  const { admits, figures, day } = batch
  const taken = admits.length === 0 ? NOTHING_TAKEN : await countBatch(connection, batch)
  const { keyUnits, beyondQuota } = shareUnits(admits, taken)
  const asked = [...beyondQuota, ...figures]
  const standing =
    asked.length === 0
      ? NOTHING_ASKED
      : await readStanding(connection, day, {
          buckets: asked.map(({ bucket }) => bucket).filter((each) => !taken.has(each)),
          accounts: asked.map(accountOf),
        })
  if (keyUnits.size > 0) await addKeyUnits(connection, day, keyUnits)
  const calls = payableCalls(beyondQuota, standing.balances, batch.pricePerCall)
  const spent = calls.size === 0 ? NOTHING_SPENT : await spendCalls(connection, { ...batch, calls })
  const tally = new Tally(batch, { taken, spent, standing })
  const admissions = admits.map((caller) => tally.admit(caller))
  if (tally.paid.size > 0) await addPaid(connection, day, tally.paid)
  return { admissions, figures: figures.map((caller) => tally.figures(caller)) }
}

/** Both statements are sent at once: on PostgreSQL they share one round trip. */
async function countBatch(
  connection: Connection,
  batch: Batch,
): Promise<ReadonlyMap<string, Taken>> {
  const recording = recordBatch(connection, batch)
  const taking = takeUnits(connection, batch.day, wantedOf(batch.admits))
  const [, taken] = await Promise.all([recording, taking])
  return taken
}

interface Shares {
  /** Free units by key, of keys that are counted apart. */
  readonly keyUnits: ReadonlyMap<string, number>
  /** Callers for whom no free unit was left, in arrival order. */
  readonly beyondQuota: readonly Caller[]
}

function shareUnits(admits: readonly Caller[], taken: ReadonlyMap<string, Taken>): Shares {
  const shared = new Map<string, number>()
  const keyUnits = new Map<string, number>()
  const beyondQuota: Caller[] = []
  for (const caller of admits) {
    const granted = taken.get(caller.bucket)?.granted ?? 0
    const isFree = countOne(shared, caller.bucket) <= granted
    const key = countedKeyOf(caller)
    if (!isFree) beyondQuota.push(caller)
    else if (key !== null) countOne(keyUnits, key)
  }
  return { keyUnits, beyondQuota }
}

/** Wanted calls by account, of accounts that hold the price of one; the debit itself decides. */
function payableCalls(
  callers: readonly Caller[],
  balances: ReadonlyMap<string, MicroUsd>,
  pricePerCall: MicroUsd,
): ReadonlyMap<string, number> {
  const calls = new Map<string, number>()
  for (const account of callers.map(accountOf))
    if ((balances.get(account) ?? 0n) >= pricePerCall) countOne(calls, account)
  return calls
}

function countOne(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}
