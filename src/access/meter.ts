import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import type { Engine } from '#store/engine.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type Meter,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { decideBatch } from './decide-batch.ts'
import { refundBatch } from './refund-batch.ts'

export interface MeterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Told the number of requests of each batch. */
  readonly onBatch?: (size: number) => void
}

/** One statement carries a batch; beyond this its text and parameters cost more than a second commit. */
const BATCH_MAX = 256

/** More waiters than this cannot be served within a request's time; they are refused at once. */
const WAITING_MAX = 20_000

type Waiting =
  | { readonly kind: 'admit'; readonly caller: Caller; readonly settle: Settle<Admission> }
  | { readonly kind: 'figures'; readonly caller: Caller; readonly settle: Settle<MeterFigures> }
  | { readonly kind: 'refund'; readonly receipt: AdmissionReceipt; readonly settle: Settle<void> }

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
  const queue = new MeterQueue(deps)
  const refunded = new WeakSet<AdmissionReceipt>()
  return {
    admit: (caller) => queue.add((settle) => ({ kind: 'admit', caller, settle })),
    figures: (caller) => queue.add((settle) => ({ kind: 'figures', caller, settle })),
    async refund(receipt) {
      if (refunded.has(receipt)) return
      refunded.add(receipt)
      await queue.add<void>((settle) => ({ kind: 'refund', receipt, settle }))
    },
  }
}

class MeterQueue {
  readonly #deps: MeterDeps
  #waiting: Waiting[] = []
  #running = false

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

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      // One turn of the event loop lets every request that has already arrived join the batch.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.slice(0, BATCH_MAX)
      this.#waiting = this.#waiting.slice(BATCH_MAX)
      this.#deps.onBatch?.(batch.length)
      await refundAll(this.#deps, batch)
      await decideAll(this.#deps, batch)
    }
    this.#running = false
  }
}

async function refundAll(deps: MeterDeps, batch: readonly Waiting[]): Promise<void> {
  const refunds = batch.filter((each) => each.kind === 'refund')
  if (refunds.length === 0) return
  const receipts = refunds.map((each) => each.receipt)
  try {
    const { pricePerCall } = deps
    await deps.engine.write((connection) => refundBatch(connection, { receipts, pricePerCall }))
    for (const { settle } of refunds) settle.resolve()
  } catch (cause) {
    rejectAll(refunds, cause)
  }
}

async function decideAll(deps: MeterDeps, batch: readonly Waiting[]): Promise<void> {
  const admits = batch.filter((each) => each.kind === 'admit')
  const figures = batch.filter((each) => each.kind === 'figures')
  if (admits.length + figures.length === 0) return
  const input = {
    admits: admits.map((each) => each.caller),
    figures: figures.map((each) => each.caller),
    day: startOfDay(unixNow(deps.clock)),
    pricePerCall: deps.pricePerCall,
  }
  try {
    const transact = admits.length > 0 ? deps.engine.write : deps.engine.snapshot
    const decided = await transact((connection) => decideBatch(connection, input))
    settleAll(admits, decided.admissions)
    settleAll(figures, decided.figures)
  } catch (cause) {
    rejectAll([...admits, ...figures], cause)
  }
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

/** Whether a commit whose answer was lost took place is unknown: it counts as not admitted. */
function rejectAll(
  waiting: readonly { readonly settle: Pick<Settle<never>, 'reject'> }[],
  cause: unknown,
): void {
  const error = new MeteringUnavailable('the accounts store cannot count calls', { cause })
  for (const { settle } of waiting) settle.reject(error)
}
