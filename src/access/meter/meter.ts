import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import { type Connection, ConstraintError, type Engine } from '#store/engine.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type Meter,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { type Batch, type Decisions, decideBatch, Misjudged } from './decide-batch.ts'
import { GroupCommit } from './group-commit.ts'
import { RecentOutcomes } from './recent-outcomes.ts'
import { RefundQueue } from './refund-queue.ts'
import { lostAdmissions, takeFree } from './take-free.ts'

export interface MeterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Names this meter among those of all processes that ever ran. */
  readonly name: string
  /** Told the number of requests of each batch. */
  readonly onBatch?: (size: number) => void
  /** Told of a call that the store never lets be given back. */
  readonly report?: (error: unknown) => void
}

type Waiting =
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
 * Counts calls by group commit: while one commit is in flight the requests that arrive form the
 * next batch, which is decided in arrival order in one transaction and durable before it answers.
 * Where a commit stands before it is durable, the next batch is decided while it reaches the disk.
 */
export function createMeter(deps: MeterDeps): Meter {
  assert(deps.pricePerCall > 0n, 'a paid call has a price above zero')
  const refunds = new RefundQueue(deps)
  const queue = new MeterQueue(deps, refunds)
  return {
    admit: (caller) => queue.admit(caller),
    figures: (caller) => queue.figures(caller),
    refund: (receipt) => refunds.add(receipt),
  }
}

class MeterQueue {
  readonly #deps: MeterDeps
  readonly #refunds: RefundQueue
  readonly #recent: RecentOutcomes
  /** PostgreSQL takes the rows of a batch in one order, which a statement for known days would break. */
  readonly #knowsDays: boolean
  readonly #commits: GroupCommit<Waiting>
  #batches = 0

  constructor(deps: MeterDeps, refunds: RefundQueue) {
    this.#deps = deps
    this.#refunds = refunds
    this.#knowsDays = deps.engine.dialect === 'sqlite'
    this.#recent = new RecentOutcomes({ keepsDays: this.#knowsDays })
    this.#commits = new GroupCommit({
      decide: (batch, onCommitted) => this.#decide(batch, onCommitted),
      onBatch: deps.onBatch,
    })
  }

  admit(caller: Caller): Promise<Admission> {
    return new Promise((resolve, reject) => {
      this.#add({ kind: 'admit', caller, resolve, reject })
    })
  }

  figures(caller: Caller): Promise<MeterFigures> {
    return new Promise((resolve, reject) => {
      this.#add({ kind: 'figures', caller, resolve, reject })
    })
  }

  #add(waiting: Waiting): void {
    if (!this.#commits.add(waiting))
      waiting.reject(new MeteringUnavailable('too many calls wait to be counted'))
  }

  async #decide(batch: readonly Waiting[], onCommitted: () => void): Promise<void> {
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
      (each) => isAdmit(each) && this.#recent.isLikelyFree(each.caller, day),
    )
    if (likely.length === 0) return batch
    const input = { id, day, pricePerCall, admits: likely.map((each) => each.caller) }
    let isSent = false
    try {
      await this.#refunds.settleDoubt()
      isSent = true
      const admissions = await takeFree(writeOnce, input)
      const admitted = new Map(likely.map((each, index) => [each, admissions[index]]))
      for (const [each, admission] of admitted)
        if (admission !== undefined && isAdmit(each)) each.resolve(admission)
      return batch.filter((each) => admitted.get(each) === undefined)
    } catch (cause) {
      if (isSent)
        this.#refunds.doubt({
          id,
          day,
          receipts: (short) => receiptsOf(lostAdmissions(input, short)),
        })
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
      this.#recent.learn(callers.admits, decided?.admissions ?? [], day)
      onCommitted()
    }
    try {
      if (admits.length > 0) await this.#refunds.settleDoubt()
      const write = () => engine.write(decide, committed)
      const final = await (admits.length > 0 ? write() : engine.snapshot(decide))
      settleAll(admits, final.admissions)
      settleAll(figures, final.figures)
    } catch (cause) {
      if (presumes && decided === undefined && isMisjudged(cause)) {
        this.#recent.forget(callers.admits)
        return this.#decideAll(batch, { onCommitted, presumes: false })
      }
      const receipts = receiptsOf(decided?.admissions ?? [])
      if (stands) this.#refunds.giveBack(receipts)
      else if (receipts.length > 0) this.#refunds.doubt({ id, day, receipts: () => receipts })
      rejectAll([...admits, ...figures], cause)
    }
  }

  #presumed(day: number): Pick<Batch, 'isPresumedPaid' | 'known'> {
    const recent = this.#recent
    const isPresumedPaid = (caller: Caller) => recent.isLikelyPaid(caller, day)
    if (!this.#knowsDays) return { isPresumedPaid }
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
