import type { MicroUsd } from '#domain/money.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { ConstraintError, type Engine, StoreError } from '#store/engine.ts'
import type { ReceiptLog } from '../receipts/receipt-log.ts'
import { type AdmissionReceipt, MeteringUnavailable } from './admission.ts'
import { resolveBatch } from './meter-statements.ts'
import { refundBatch } from './refund-batch.ts'
import type { RefundJournal, UnresolvedBatch, WaitingRefunds } from './refund-journal.ts'

/** About 20 MB; refunds beyond it are reported lost. */
const REFUNDS_MAX = 100_000

/** Larger batches cost more than a second commit. */
const BATCH_MAX = 256

const RETRY_MS = 1_000

/** A long-stuck row is free within a minute of its release. */
const RETRY_MS_MAX = 60_000

const LATE_MS = 1_000

interface RefundDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Refunds that the store refuses for good. */
  readonly report?: (error: unknown) => void
  readonly journal?: RefundJournal | undefined
  readonly receipts?: ReceiptLog | undefined
}

interface Refund {
  readonly receipt: AdmissionReceipt
  readonly resolve: () => void
  readonly reject: (error: MeteringUnavailable) => void
  /** Failed in a batch: tried alone, so that it cannot block others. */
  alone: boolean
  failures: number
  isKept: boolean
}

/**
 * In the background: admissions never wait, and a locked row delays one receipt only. Failures are
 * journalled and retried with back-off, by this process or the next.
 */
export class RefundQueue {
  readonly #deps: RefundDeps
  #waiting: Refund[] = []
  #resting = 0
  #failuresInRow = 0
  #isPaused = false
  #isRunning = false
  #isLate = false
  readonly #unresolved: UnresolvedBatch[] = []
  #asking: Promise<void> | undefined

  constructor(deps: RefundDeps) {
    this.#deps = deps
  }

  /** Resolves when refunded; rejects if that did not work at once. */
  add(receipt: AdmissionReceipt): Promise<void> {
    if (this.#waiting.length + this.#resting >= REFUNDS_MAX)
      return Promise.reject(new MeteringUnavailable('the refund queue is full'))
    return new Promise((resolve, reject) => {
      const refunds = this.#push([receipt], { resolve, reject })
      if (this.#isPaused)
        this.#reject(
          refunds,
          new MeteringUnavailable('the call is refunded once the store answers'),
        )
      this.#start()
    })
  }

  async refundAll(receipts: readonly AdmissionReceipt[]): Promise<void> {
    const kept = this.#keep(this.#push(receipts, NOBODY))
    this.#start()
    await kept
  }

  /** Refunds a batch if it was committed after all. Resolves once journalled. */
  async resolveLater(batch: UnresolvedBatch): Promise<void> {
    const kept = this.#deps.journal?.keep({ receipts: [], unresolved: [batch] })
    this.#unresolved.push(batch)
    this.#start()
    await kept
  }

  resume({ receipts, unresolved }: WaitingRefunds): void {
    for (const refund of this.#push(receipts, NOBODY)) refund.isKept = true
    this.#unresolved.push(...unresolved)
    this.#start()
  }

  /**
   * Resolves when no batch is unresolved. Refunds of committed ones are only queued: a stuck one
   * blocks no caller.
   */
  resolveBatches(): Promise<void> {
    if (this.#unresolved.length === 0) return Promise.resolve()
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    const { engine, journal, receipts } = this.#deps
    for (let [next] = this.#unresolved; next !== undefined; [next] = this.#unresolved) {
      const batch = next
      const { stands, newest: after } = await engine.write((tx) => resolveBatch(tx, batch))
      // The next batch overwrites the mark that shows whether this one was committed.
      if (stands) await this.#keep(this.#push(batch.receipts, NOBODY))
      else receipts?.add({ kind: 'lost', meter: batch.id.meter, after, through: batch.id.number })
      this.#unresolved.shift()
      journal?.settled(1)
      this.#start()
    }
  }

  #push(
    receipts: readonly AdmissionReceipt[],
    settle: Pick<Refund, 'resolve' | 'reject'>,
  ): readonly Refund[] {
    const state = { alone: false, failures: 0, isKept: false }
    const refunds = receipts.map((receipt) => ({ receipt, ...settle, ...state }))
    for (const refund of refunds) this.#waiting.push(refund)
    if (this.#isLate || this.#isPaused) void this.#keep(refunds)
    return refunds
  }

  async #keep(refunds: readonly Refund[]): Promise<void> {
    const unkept = refunds.filter((each) => !each.isKept)
    for (const each of unkept) each.isKept = true
    const receipts = unkept.map((each) => each.receipt)
    await this.#deps.journal?.keep({ receipts, unresolved: [] })
  }

  #forget(refunds: readonly Refund[]): void {
    this.#deps.journal?.settled(refunds.filter((each) => each.isKept).length)
  }

  /** Journals first: the process may die right after the refusal. */
  #reject(refunds: readonly Refund[], error: MeteringUnavailable): void {
    void this.#keep(refunds).then(() => {
      for (const each of refunds) each.reject(error)
    })
  }

  #start(): void {
    if (!this.#isRunning && !this.#isPaused) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (!this.#isPaused && (this.#waiting.length > 0 || this.#unresolved.length > 0)) {
      await new Promise((resolve) => setImmediate(resolve))
      const late = setTimeout(() => {
        this.#isLate = true
        void this.#keep(this.#waiting)
      }, LATE_MS).unref()
      await this.#refund()
      clearTimeout(late)
      this.#isLate = false
    }
    this.#isRunning = false
  }

  async #refund(): Promise<void> {
    try {
      await this.resolveBatches()
    } catch (cause) {
      this.#pause(cause)
      return
    }
    const due = this.#due()
    if (due.length === 0) return
    const receipts = due.map((each) => each.receipt)
    const { engine, clock, pricePerCall } = this.#deps
    const batch = { receipts, pricePerCall, nowUnix: unixNow(clock) }
    try {
      await engine.write((connection) => refundBatch(connection, batch))
    } catch (cause) {
      this.#fail(due, cause)
      return
    }
    this.#waiting = this.#waiting.slice(due.length)
    this.#failuresInRow = 0
    this.#forget(due)
    for (const { resolve } of due) resolve()
  }

  /** The first if it is tried alone, else all before the next such one. */
  #due(): readonly Refund[] {
    const first = this.#waiting.slice(0, BATCH_MAX)
    const alone = first.findIndex((each) => each.alone)
    if (alone === -1) return first
    return first.slice(0, Math.max(1, alone))
  }

  #fail(due: readonly Refund[], cause: unknown): void {
    const [first] = due
    const isNew = first?.failures === 0
    if (first === undefined || due.length > 1) for (const each of due) each.alone = true
    else if (mayWorkLater(cause)) this.#rest(first)
    else this.#leaveOut(first, cause)
    this.#reject(due, unavailable(cause))
    // Repeated failures of one say nothing about the others.
    if (isNew) this.#pause(cause)
  }

  #leaveOut(refund: Refund, cause: unknown): void {
    this.#waiting = this.#waiting.slice(1)
    this.#forget([refund])
    const { id } = refund.receipt
    this.#deps.report?.(new Error(`a call can never be refunded: ${id}`, { cause }))
  }

  /** The store may be down: rejects waiters and backs off. */
  #pause(cause: unknown): void {
    this.#reject([...this.#waiting], unavailable(cause))
    this.#failuresInRow += 1
    this.#isPaused = true
    const resume = () => {
      this.#isPaused = false
      this.#start()
    }
    setTimeout(resume, retryMs(this.#failuresInRow)).unref()
  }

  /** Moves a receipt, and those that need its row, to the end. */
  #rest(refund: Refund): void {
    const { bucket } = refund.receipt
    const failures = refund.failures + 1
    const group = this.#waiting.filter((each) => each.receipt.bucket === bucket)
    this.#waiting = this.#waiting.filter((each) => each.receipt.bucket !== bucket)
    this.#resting += group.length
    for (const each of group) Object.assign(each, { alone: true, failures })
    this.#reject(group, new MeteringUnavailable('the call will be refunded later'))
    const comeBack = () => {
      this.#resting -= group.length
      this.#waiting.push(...group)
      this.#start()
    }
    setTimeout(comeBack, retryMs(failures)).unref()
  }
}

/** A broken constraint is permanent. */
function mayWorkLater(cause: unknown): boolean {
  return cause instanceof StoreError && !(cause instanceof ConstraintError)
}

function retryMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MS_MAX)
}

function unavailable(cause: unknown): MeteringUnavailable {
  return new MeteringUnavailable('cannot refund calls in the accounts store now', { cause })
}

/** For unresolved batches: their callers were refused. */
const NOBODY = { resolve: () => undefined, reject: () => undefined }
