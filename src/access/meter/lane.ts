import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import { type Connection, ConstraintError, type Engine } from '#store/engine.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { type Batch, type Decisions, decideBatch, Misjudged } from './decide-batch.ts'
import type { RecentOutcomes } from './recent-outcomes.ts'
import type { RefundJournal } from './refund-journal.ts'
import { RefundQueue } from './refund-queue.ts'
import { lostAdmissions, takeFree } from './take-free.ts'

export interface LaneDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Names the lane among those of all processes that ever ran. */
  readonly name: string
  readonly recent: RecentOutcomes
  /** Told of a call that the store never lets be given back. */
  readonly report?: (error: unknown) => void
  readonly journal?: RefundJournal | undefined
}

/** Who waits for a batch. */
export type Waiting =
  | ({ readonly kind: 'admit'; readonly caller: Caller } & Settle<Admission>)
  | ({ readonly kind: 'figures'; readonly caller: Caller } & Settle<MeterFigures>)

interface Settle<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable): void
}

interface HowToDecide {
  /** Told when the batch stands; the next one may then be decided. */
  readonly onCommitted: () => void
  /** Takes for true what was decided of late; where that is wrong, all is asked once more. */
  readonly presumes?: boolean
}

/**
 * Decides batches in its own name, which numbers them: of the newest one whose answer was lost it can be
 * told whether it stands. What a batch counted and nobody heard of is given back.
 */
export class Lane {
  readonly refunds: RefundQueue
  readonly #deps: LaneDeps
  #batches = 0

  constructor(deps: LaneDeps) {
    this.#deps = deps
    this.refunds = new RefundQueue(deps)
  }

  /** Tells each of the batch what became of it; never rejects. `onCommitted` as `GroupCommit` has it. */
  async decide(batch: readonly Waiting[], onCommitted: () => void): Promise<void> {
    const { writeOnce } = this.#deps.engine
    const rest = writeOnce === undefined ? batch : await this.#takeFree(batch, writeOnce)
    if (rest.length > 0) await this.#decideAll(rest, { onCommitted })
  }

  /** Admits those who are likely to have a free unit left; gives all others, in their order. */
  async #takeFree(
    batch: readonly Waiting[],
    writeOnce: NonNullable<Engine['writeOnce']>,
  ): Promise<readonly Waiting[]> {
    const { pricePerCall } = this.#deps
    const { id, day } = this.#nextId()
    const likely = batch.filter(
      (each) => isAdmit(each) && this.#deps.recent.isLikelyFree(each.caller, day),
    )
    if (likely.length === 0) return batch
    const input = { id, day, pricePerCall, admits: likely.map((each) => each.caller) }
    let isSent = false
    try {
      await this.refunds.settleDoubts()
      isSent = true
      const admissions = await takeFree(writeOnce, input)
      const admitted = new Map(likely.map((each, index) => [each, admissions[index]]))
      for (const [each, admission] of admitted)
        if (admission !== undefined && isAdmit(each)) each.resolve(admission)
      return batch.filter((each) => admitted.get(each) === undefined)
    } catch (cause) {
      if (isSent) await this.refunds.doubt({ id, day, receipts: receiptsOf(lostAdmissions(input)) })
      rejectAll(likely, cause)
      const rejected = new Set(likely)
      return batch.filter((each) => !rejected.has(each))
    }
  }

  async #decideAll(
    batch: readonly Waiting[],
    { onCommitted, presumes = true }: HowToDecide,
  ): Promise<void> {
    const admits = batch.filter(isAdmit)
    const figures = batch.filter((each) => each.kind === 'figures')
    const { engine, pricePerCall } = this.#deps
    const { id, day } = this.#nextId()
    const callers = {
      admits: admits.map((each) => each.caller),
      figures: figures.map((each) => each.caller),
    }
    const presumed = presumes ? this.#presumed(day) : {}
    const input = { ...callers, id, day, pricePerCall, ...presumed }
    let decided: Decisions | undefined
    let stands = false
    const decide = async (connection: Connection) => {
      decided = await decideBatch(connection, input)
      return decided
    }
    const committed = () => {
      stands = true
      this.#deps.recent.learn(callers.admits, decided?.admissions ?? [], day)
      onCommitted()
    }
    try {
      if (admits.length > 0) await this.refunds.settleDoubts()
      const write = () => engine.write(decide, committed)
      const final = await (admits.length > 0 ? write() : engine.snapshot(decide))
      settleAll(admits, final.admissions)
      settleAll(figures, final.figures)
    } catch (cause) {
      if (presumes && decided === undefined && isMisjudged(cause)) {
        this.#deps.recent.forget(callers.admits)
        return this.#decideAll(batch, { onCommitted, presumes: false })
      }
      const receipts = receiptsOf(decided?.admissions ?? [])
      if (stands) await this.refunds.giveBack(receipts)
      else if (receipts.length > 0) await this.refunds.doubt({ id, day, receipts })
      rejectAll([...admits, ...figures], cause)
    }
  }

  #presumed(day: number): Pick<Batch, 'isPresumedPaid' | 'known'> {
    const { engine, recent } = this.#deps
    const isPresumedPaid = (caller: Caller) => recent.isLikelyPaid(caller, day)
    // PostgreSQL takes the rows of a batch in one order, which a statement for known days would break.
    if (engine.dialect === 'postgres') return { isPresumedPaid }
    return { isPresumedPaid, known: (bucket) => recent.usageDay(bucket, day) }
  }

  #nextId() {
    this.#batches += 1
    const day = startOfDay(unixNow(this.#deps.clock))
    return { id: { meter: this.#deps.name, number: this.#batches }, day }
  }
}

/** The store itself refuses a paid call where free units are left. */
function isMisjudged(cause: unknown): boolean {
  return cause instanceof Misjudged || cause instanceof ConstraintError
}

function isAdmit(waiting: Waiting): waiting is Extract<Waiting, { readonly kind: 'admit' }> {
  return waiting.kind === 'admit'
}

function receiptsOf(admissions: readonly (Admission | undefined)[]): readonly AdmissionReceipt[] {
  return admissions.flatMap((each) => (each?.kind === 'admitted' ? [each.receipt] : []))
}

function settleAll<T>(waiting: readonly Settle<T>[], values: readonly T[]): void {
  for (const [index, each] of waiting.entries()) {
    const value = values[index]
    assert(value !== undefined, 'a decision for every request of the batch')
    each.resolve(value)
  }
}

function rejectAll(waiting: readonly Pick<Settle<never>, 'reject'>[], cause: unknown): void {
  const error = new MeteringUnavailable('the accounts store cannot count calls', { cause })
  for (const each of waiting) each.reject(error)
}
