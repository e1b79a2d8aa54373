import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type Meter,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { type Decisions, decideBatch } from './decide-batch.ts'
import { type BatchId, wasCommitted } from './meter-store.ts'
import { refundBatch } from './refund-batch.ts'

export interface MeterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Names this meter among those of all processes that ever ran. */
  readonly name: string
  /** Told the number of requests of each batch. */
  readonly onBatch?: (size: number) => void
}

/** One statement carries a batch; beyond this its text and parameters cost more than a second commit. */
const BATCH_MAX = 256

/** More waiters than this cannot be served within a request's time; they are refused at once. */
const WAITING_MAX = 20_000

/** Some 20 MB of refunds that a store that is down keeps waiting; beyond it they are reported lost. */
const REFUNDS_MAX = 100_000

/** A store that is down is asked this often whether it takes refunds again. */
const REFUND_RETRY_MS = 1_000

type Waiting =
  | { readonly kind: 'admit'; readonly caller: Caller; readonly settle: Settle<Admission> }
  | { readonly kind: 'figures'; readonly caller: Caller; readonly settle: Settle<MeterFigures> }

interface Refund {
  readonly receipt: AdmissionReceipt
  readonly settle: Settle<void>
}

interface Settle<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable): void
}

/** A batch whose commit failed: whether it took place must be known before the next one. */
interface Doubt {
  readonly id: BatchId
  readonly receipts: readonly AdmissionReceipt[]
}

/**
 * Counts calls by group commit: while one commit is in flight the requests that arrive form the
 * next batch, which is decided in arrival order in one transaction and durable before it answers.
 */
export function createMeter(deps: MeterDeps): Meter {
  assert(deps.pricePerCall > 0n, 'a paid call has a price above zero')
  const queue = new MeterQueue(deps)
  return {
    admit: (caller) => queue.add((settle) => ({ kind: 'admit', caller, settle })),
    figures: (caller) => queue.add((settle) => ({ kind: 'figures', caller, settle })),
    refund: (receipt) => queue.refund(receipt),
  }
}

class MeterQueue {
  readonly #deps: MeterDeps
  #waiting: Waiting[] = []
  #refunds: Refund[] = []
  #refundsRest = false
  #oneByOne = false
  #running = false
  #batches = 0
  #doubt: Doubt | undefined

  constructor(deps: MeterDeps) {
    this.#deps = deps
  }

  add<T>(make: (settle: Settle<T>) => Waiting): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be counted'))
    return new Promise((resolve, reject) => {
      this.#waiting.push(make({ resolve, reject }))
      if (!this.#running) void this.#run()
    })
  }

  refund(receipt: AdmissionReceipt): Promise<void> {
    if (this.#refunds.length >= REFUNDS_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be given back'))
    return new Promise((resolve, reject) => {
      this.#refunds.push({ receipt, settle: { resolve, reject } })
      if (this.#refundsRest)
        reject(new MeteringUnavailable('the call is given back once the store answers'))
      else if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0 || this.#hasRefunds()) {
      // One turn of the event loop lets every request that has already arrived join the batch.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.slice(0, BATCH_MAX)
      this.#waiting = this.#waiting.slice(BATCH_MAX)
      if (batch.length > 0) this.#deps.onBatch?.(batch.length)
      if (this.#hasRefunds()) await this.#giveBack()
      await this.#decide(batch)
    }
    this.#running = false
  }

  #hasRefunds(): boolean {
    return !this.#refundsRest && (this.#refunds.length > 0 || this.#doubt !== undefined)
  }

  /** In the order in which they came; what the store does not take stays in front. */
  async #giveBack(): Promise<void> {
    const due = this.#refunds.slice(0, this.#oneByOne ? 1 : BATCH_MAX)
    try {
      await this.#settleDoubt()
      const receipts = due.map((each) => each.receipt)
      const { engine, pricePerCall } = this.#deps
      if (due.length > 0)
        await engine.write((connection) => refundBatch(connection, { receipts, pricePerCall }))
      this.#refunds = this.#refunds.slice(due.length)
      this.#oneByOne = false
      for (const { settle } of due) settle.resolve()
    } catch (cause) {
      rejectAll(due, cause)
      if (!(cause instanceof StoreError)) this.#passOver(due)
      this.#rest()
    }
  }

  /** A receipt that is no good is left out, found by trying one after the other. */
  #passOver(due: readonly Refund[]): void {
    if (due.length === 1) this.#refunds = this.#refunds.slice(1)
    this.#oneByOne = due.length > 1
  }

  #rest(): void {
    this.#refundsRest = true
    const wake = () => {
      this.#refundsRest = false
      if (!this.#running && this.#hasRefunds()) void this.#run()
    }
    setTimeout(wake, REFUND_RETRY_MS).unref()
  }

  /** Gives a batch back that was committed although its callers were refused. */
  async #settleDoubt(): Promise<void> {
    const doubt = this.#doubt
    if (doubt === undefined) return
    const { engine, pricePerCall } = this.#deps
    await engine.write(async (connection) => {
      if (await wasCommitted(connection, doubt.id))
        await refundBatch(connection, { receipts: doubt.receipts, pricePerCall })
    })
    this.#doubt = undefined
  }

  async #decide(batch: readonly Waiting[]): Promise<void> {
    const admits = batch.filter((each) => each.kind === 'admit')
    const figures = batch.filter((each) => each.kind === 'figures')
    if (admits.length + figures.length === 0) return
    const { engine, clock, pricePerCall } = this.#deps
    this.#batches += 1
    const id = { meter: this.#deps.name, number: this.#batches }
    const callers = {
      admits: admits.map((each) => each.caller),
      figures: figures.map((each) => each.caller),
    }
    const input = { ...callers, id, day: startOfDay(unixNow(clock)), pricePerCall }
    let decided: Decisions | undefined
    try {
      if (admits.length > 0) await this.#settleDoubt()
      const transact = admits.length > 0 ? engine.write : engine.snapshot
      const final = await transact(async (connection) => {
        decided = await decideBatch(connection, input)
        return decided
      })
      settleAll(admits, final.admissions)
      settleAll(figures, final.figures)
    } catch (cause) {
      if (decided !== undefined) this.#doubt ??= doubtOf(id, decided)
      rejectAll([...admits, ...figures], cause)
    }
  }
}

function doubtOf(id: BatchId, decided: Decisions): Doubt | undefined {
  const receipts = decided.admissions.flatMap((each) =>
    each.kind === 'admitted' ? [each.receipt] : [],
  )
  return receipts.length === 0 ? undefined : { id, receipts }
}

function settleAll<T>(
  waiting: readonly { readonly settle: Settle<T> }[],
  values: readonly T[],
): void {
  for (const [index, { settle }] of waiting.entries()) {
    const value = values[index]
    assert(value !== undefined, 'a decision for every request of the batch')
    settle.resolve(value)
  }
}

function rejectAll(
  waiting: readonly { readonly settle: Pick<Settle<never>, 'reject'> }[],
  cause: unknown,
): void {
  const error = new MeteringUnavailable('the accounts store cannot count calls', { cause })
  for (const { settle } of waiting) settle.reject(error)
}
