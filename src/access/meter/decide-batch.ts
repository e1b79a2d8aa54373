import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { readBalances } from '#ledger/balance.ts'
import { payCalls, spendCalls } from '#ledger/spend.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission, MeterFigures } from './admission.ts'
import { addKeyUnits } from './key-day.ts'
import { type KnownDays, takeKnownUnits } from './known-days.ts'
import { recordBatch } from './meter-store.ts'
import { accountOf, type Tallied, Tally } from './tally.ts'
import {
  addPaid,
  readUsageDays,
  type Taken,
  takeUnits,
  type Wanted,
  wantedOf,
} from './usage-day.ts'

export interface Batch extends Tallied {
  /** Callers who only ask how they stand. */
  readonly figures: readonly Caller[]
  /**
   * Whether all calls of a caller are presumed to be paid, so that they are counted as such at once. A
   * presumption that does not hold is `Misjudged`, and nothing of the batch may then be stored.
   */
  readonly isPresumedPaid?: (caller: Caller) => boolean
  /** Days as they stood when last decided; where one stands otherwise, the store refuses the batch. */
  readonly known?: KnownDays | undefined
}

export interface Decisions {
  readonly admissions: readonly Admission[]
  readonly figures: readonly MeterFigures[]
}

/** A caller has free units or too little money, unlike what was presumed. */
export class Misjudged extends Error {
  override readonly name = 'Misjudged'
}

const presumeNothing = () => false

const NOTHING_TAKEN: ReadonlyMap<string, Taken> = new Map()

/** Decides a batch inside one transaction: free units first, then prepaid calls, in arrival order. */
export async function decideBatch(connection: Connection, batch: Batch): Promise<Decisions> {
  const { admits, day, isPresumedPaid = presumeNothing } = batch
  const payers = new Set(admits.filter(isPresumedPaid))
  const wanted = wantedOf(admits, payers)
  const taken = admits.length === 0 ? NOTHING_TAKEN : await countBatch(connection, batch, wanted)
  for (const [bucket, { paid, quota }] of wanted)
    if (paid > 0) refuseFreeUnits(taken.get(bucket), quota)
  const spent = await spend(connection, batch, beyondQuota(admits, taken, payers))
  const others = batch.figures.map((each) => each.bucket).filter((bucket) => !taken.has(bucket))
  const known = await readUsageDays(connection, day, [...new Set(others)])
  const balances = await readBalances(connection, accountsOf(batch.figures))
  const tally = new Tally(batch, { taken, spent, balances, known })
  const admissions = admits.map((caller) => tally.admit(caller))
  if (tally.paid.size > 0) await addPaid(connection, day, uncounted(tally.paid, wanted))
  if (tally.keyUnits.size > 0) await addKeyUnits(connection, day, tally.keyUnits)
  return { admissions, figures: batch.figures.map((caller) => tally.figures(caller)) }
}

/** Both are sent at once; what the store refuses is told by the first, the second fails after it. */
async function countBatch(
  connection: Connection,
  batch: Batch,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<ReadonlyMap<string, Taken>> {
  const taking = take(connection, batch, wanted)
  const recording = recordBatch(connection, batch)
  recording.catch(() => undefined)
  const taken = await taking
  await recording
  return taken
}

async function take(
  connection: Connection,
  { day, known }: Batch,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<ReadonlyMap<string, Taken>> {
  if (known === undefined) return takeUnits(connection, day, wanted)
  const { taken, rest } = await takeKnownUnits(connection, { day, wanted, known })
  if (rest.size === 0) return taken
  return new Map([...taken, ...(await takeUnits(connection, day, rest))])
}

function refuseFreeUnits(taken: Taken | undefined, quota: number): void {
  if (taken === undefined || taken.granted > 0 || taken.used < quota)
    throw new Misjudged('free units are left')
}

/** Calls for which no free unit was left. */
interface BeyondQuota {
  /** Of whom it is not known whether they can pay, in arrival order. */
  readonly unsure: readonly Caller[]
  /** Those that are presumed to be paid, by account. */
  readonly presumed: ReadonlyMap<string, number>
}

/** Of a bucket whose calls are presumed to be paid no unit was granted. */
function beyondQuota(
  admits: readonly Caller[],
  taken: ReadonlyMap<string, Taken>,
  payers: ReadonlySet<Caller>,
): BeyondQuota {
  const seen = new Map<string, number>()
  const unsure: Caller[] = []
  const presumed = new Map<string, number>()
  for (const caller of admits) {
    if (payers.has(caller)) {
      countCall(presumed, caller)
      continue
    }
    const { bucket } = caller
    const before = seen.get(bucket) ?? 0
    seen.set(bucket, before + 1)
    if (before >= (taken.get(bucket)?.granted ?? 0)) unsure.push(caller)
  }
  return { unsure, presumed }
}

/** Calls that were paid, by account. Who is given a free unit is told of no balance. */
async function spend(
  connection: Connection,
  { day, pricePerCall }: Batch,
  { unsure, presumed }: BeyondQuota,
): Promise<ReadonlyMap<string, number>> {
  const payable = await readPayable(connection, unsure, pricePerCall)
  if (payable.size === 0) {
    if (presumed.size > 0) await payCalls(connection, { calls: presumed, pricePerCall, day })
    return presumed
  }
  const calls = new Map([...payable, ...presumed])
  const spent = await spendCalls(connection, { calls, pricePerCall, day })
  for (const [account, count] of presumed)
    if (spent.get(account) !== count) throw new Misjudged('too little money')
  return spent
}

/** Calls by account, of those accounts that hold the price of a call; the debit itself decides. */
async function readPayable(
  connection: Connection,
  callers: readonly Caller[],
  pricePerCall: MicroUsd,
): Promise<Map<string, number>> {
  const balances = await readBalances(connection, accountsOf(callers))
  const calls = new Map<string, number>()
  for (const caller of callers)
    if ((balances.get(accountOf(caller)) ?? 0n) >= pricePerCall) countCall(calls, caller)
  return calls
}

function accountsOf(callers: readonly Caller[]): readonly string[] {
  return [...new Set(callers.map(accountOf))]
}

function countCall(calls: Map<string, number>, caller: Caller): void {
  const account = accountOf(caller)
  calls.set(account, (calls.get(account) ?? 0) + 1)
}

/** Paid calls by bucket that were not presumed. */
function uncounted(
  paid: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, Wanted>,
): Map<string, number> {
  const left = new Map<string, number>()
  for (const [bucket, calls] of paid) {
    const more = calls - (wanted.get(bucket)?.paid ?? 0)
    if (more > 0) left.set(bucket, more)
  }
  return left
}
