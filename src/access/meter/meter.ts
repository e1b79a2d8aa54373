import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import { ConstraintError, type Engine } from '#store/engine.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type Meter,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { type Decisions, decideBatch, Misjudged } from './decide-batch.ts'
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

/** One statement carries a batch; beyond this its text and parameters cost more than a second commit. */
const BATCH_MAX = 256

/** More waiters than this cannot be served within a request's time; they are refused at once. */
const WAITING_MAX = 20_000

type Waiting =
  | ({ readonly kind: 'admit'; readonly caller: Caller } & Settle<Admission>)
  | ({ readonly kind: 'figures'; readonly caller: Caller } & Settle<MeterFigures>)

interface Settle<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable): void
}

/**
 * Counts calls by group commit: while one commit is in flight the requests that arrive form the
 * next batch, which is decided in arrival order in one transaction and durable before it answers.
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
  #waiting: Waiting[] = []
  readonly #recent = new RecentOutcomes()
  #running = false
  #batches = 0

  constructor(deps: MeterDeps, refunds: RefundQueue) {
    this.#deps = deps
    this.#refunds = refunds
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
    if (this.#waiting.length >= WAITING_MAX) {
      waiting.reject(new MeteringUnavailable('too many calls wait to be counted'))
      return
    }
    this.#waiting.push(waiting)
    if (!this.#running) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      // One turn of the event loop lets every request that has already arrived join the batch.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.slice(0, BATCH_MAX)
      this.#waiting = this.#waiting.slice(BATCH_MAX)
      this.#deps.onBatch?.(batch.length)
      await this.#decide(batch)
    }
    this.#running = false
  }

  async #decide(batch: readonly Waiting[]): Promise<void> {
    const { writeOnce } = this.#deps.engine
    const rest = writeOnce === undefined ? batch : await this.#takeFree(batch, writeOnce)
    if (rest.length > 0) await this.#decideAll(rest)
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

  /** `presumes` takes for paid what was paid of late; where that is wrong, all is asked once more. */
  async #decideAll(batch: readonly Waiting[], presumes = true): Promise<void> {
    const admits = batch.filter(isAdmit)
    const figures = batch.filter((each) => each.kind === 'figures')
    const { engine, pricePerCall } = this.#deps
    const { id, day } = this.#nextId()
    const callers = {
      admits: admits.map((each) => each.caller),
      figures: figures.map((each) => each.caller),
    }
    const isPresumedPaid = (caller: Caller) => presumes && this.#recent.isLikelyPaid(caller, day)
    const input = { ...callers, id, day, pricePerCall, isPresumedPaid }
    let decided: Decisions | undefined
    try {
      if (admits.length > 0) await this.#refunds.settleDoubt()
      const transact = admits.length > 0 ? engine.write : engine.snapshot
      const final = await transact(async (connection) => {
        decided = await decideBatch(connection, input)
        return decided
      })
      this.#recent.learn(callers.admits, final.admissions, day)
      settleAll(admits, final.admissions)
      settleAll(figures, final.figures)
    } catch (cause) {
      const isPresumed = decided === undefined && callers.admits.some(isPresumedPaid)
      if (isPresumed && isMisjudged(cause)) {
        this.#recent.forget(callers.admits)
        return this.#decideAll(batch, false)
      }
      const receipts = receiptsOf(decided?.admissions ?? [])
      if (receipts.length > 0) this.#refunds.doubt({ id, day, receipts: () => receipts })
      rejectAll([...admits, ...figures], cause)
    }
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
