import type { MicroUsd } from '#domain/money.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { ConstraintError, type Engine, StoreError } from '#store/engine.ts'
import { type AdmissionReceipt, MeteringUnavailable } from './admission.ts'
import { type BatchId, settleBatch } from './meter-store.ts'
import { refundBatch } from './refund-batch.ts'

/** Some 20 MB of refunds that a store that is down keeps waiting; beyond it they are reported lost. */
const REFUNDS_MAX = 100_000

/** One statement carries that many; beyond this its text costs more than a second commit. */
const BATCH_MAX = 256

/** The wait after the first failure; each further one in a row doubles it. */
const RETRY_MS = 1_000

/** A row that was stuck for long is free within a minute of its release. */
const RETRY_MS_MAX = 60_000

/** A batch whose commit failed: whether it took place must be known before the next one. */
export interface Doubt {
  readonly id: BatchId
  /** Unix seconds of the UTC day that it charged. */
  readonly day: number
  /** What it charged, if it was committed: `short` has those who were granted less than they asked. */
  receipts(short: ReadonlyMap<string, number>): readonly AdmissionReceipt[]
}

interface RefundDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Told of a call that the store never lets be given back. */
  readonly report?: (error: unknown) => void
}

interface Refund {
  readonly receipt: AdmissionReceipt
  readonly resolve: () => void
  readonly reject: (error: MeteringUnavailable) => void
  /** It failed among others: from then on it is tried by itself, so that it can hold back none. */
  alone: boolean
  /** How often it failed by itself. */
  failures: number
}

/**
 * Gives calls back beside the admissions, which never wait for it: a row that is stuck stops one
 * receipt. What the store does not take is tried again, ever more rarely, as long as this process
 * lives.
 */
export class RefundQueue {
  readonly #deps: RefundDeps
  #waiting: Refund[] = []
  /** Receipts that failed by themselves and come back when their time has passed. */
  #resting = 0
  #failuresInRow = 0
  #isPaused = false
  #isRunning = false
  #doubt: Doubt | undefined
  #asking: Promise<void> | undefined

  constructor(deps: RefundDeps) {
    this.#deps = deps
  }

  /** Resolves when the call is given back; rejects when that did not work at once. */
  add(receipt: AdmissionReceipt): Promise<void> {
    if (this.#waiting.length + this.#resting >= REFUNDS_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be given back'))
    return new Promise((resolve, reject) => {
      this.#push(receipt, { resolve, reject })
      if (this.#isPaused)
        reject(new MeteringUnavailable('the call is given back once the store answers'))
      this.#start()
    })
  }

  /** Calls that are counted and whose callers were refused. */
  giveBack(receipts: readonly AdmissionReceipt[]): void {
    for (const receipt of receipts) this.#push(receipt, NOBODY)
    this.#start()
  }

  /** A batch that is given back if it turns out to be committed; there is one at a time. */
  doubt(doubt: Doubt): void {
    this.#doubt ??= doubt
    this.#start()
  }

  /**
   * Resolves when there is no doubt about any batch. A batch that was committed is only put in line
   * here: what is stuck of it must not keep other callers out.
   */
  settleDoubt(): Promise<void> {
    const doubt = this.#doubt
    if (doubt === undefined) return Promise.resolve()
    this.#asking ??= this.#ask(doubt).finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(doubt: Doubt): Promise<void> {
    const short = await this.#deps.engine.write((tx) => settleBatch(tx, doubt))
    if (short !== undefined)
      for (const receipt of doubt.receipts(short)) this.#push(receipt, NOBODY)
    this.#doubt = undefined
    this.#start()
  }

  #push(receipt: AdmissionReceipt, settle: Pick<Refund, 'resolve' | 'reject'>): void {
    this.#waiting.push({ receipt, ...settle, alone: false, failures: 0 })
  }

  #start(): void {
    if (!this.#isRunning && !this.#isPaused) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (!this.#isPaused && (this.#waiting.length > 0 || this.#doubt !== undefined)) {
      // One turn of the event loop lets every refund that has already arrived join the batch.
      await new Promise((resolve) => setImmediate(resolve))
      await this.#giveBack()
    }
    this.#isRunning = false
  }

  async #giveBack(): Promise<void> {
    try {
      await this.settleDoubt()
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
    for (const { resolve } of due) resolve()
  }

  /** From the front: one that is tried by itself, or all up to the next such one. */
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
    for (const each of due) each.reject(unavailable(cause))
    // What failed by itself before says nothing about the others.
    if (isNew) this.#pause(cause)
  }

  /** Whoever waited was told long ago, or nobody does. */
  #leaveOut({ receipt }: Refund, cause: unknown): void {
    this.#waiting = this.#waiting.slice(1)
    this.#deps.report?.(new Error(`a call is never given back: ${receipt.id}`, { cause }))
  }

  /** The store may be down: nobody waits for it, and it is asked ever more rarely. */
  #pause(cause: unknown): void {
    for (const each of this.#waiting) each.reject(unavailable(cause))
    this.#failuresInRow += 1
    this.#isPaused = true
    const resume = () => {
      this.#isPaused = false
      this.#start()
    }
    setTimeout(resume, retryMs(this.#failuresInRow)).unref()
  }

  /** Sends a receipt to the end of the line for later, and with it those that need the same row. */
  #rest(refund: Refund): void {
    const { bucket } = refund.receipt
    const failures = refund.failures + 1
    const group = this.#waiting.filter((each) => each.receipt.bucket === bucket)
    this.#waiting = this.#waiting.filter((each) => each.receipt.bucket !== bucket)
    this.#resting += group.length
    for (const each of group) {
      Object.assign(each, { alone: true, failures })
      each.reject(new MeteringUnavailable('the call is given back later'))
    }
    const comeBack = () => {
      this.#resting -= group.length
      this.#waiting.push(...group)
      this.#start()
    }
    setTimeout(comeBack, retryMs(failures)).unref()
  }
}

/** The store refuses a receipt for good that breaks one of its rules. */
function mayWorkLater(cause: unknown): boolean {
  return cause instanceof StoreError && !(cause instanceof ConstraintError)
}

function retryMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MS_MAX)
}

function unavailable(cause: unknown): MeteringUnavailable {
  return new MeteringUnavailable('the accounts store cannot give calls back now', { cause })
}

/** Nobody waits: the callers of a batch in doubt were refused. */
const NOBODY = { resolve: () => undefined, reject: () => undefined }
