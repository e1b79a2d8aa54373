import assert from 'node:assert/strict'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import { type Connection, type Engine, LockTimeoutError } from '#store/engine.ts'
import type { ReceiptLog } from '../receipts/receipt-log.ts'
import {
  type Admission,
  type AdmissionReceipt,
  type MeterFigures,
  MeteringUnavailable,
} from './admission.ts'
import { type Batch, type Decisions, decideBatch } from './decide-batch.ts'
import type { RefundJournal } from './refund-journal.ts'
import { RefundQueue } from './refund-queue.ts'

export interface BatchWriterDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  /** Unique for ever; with a count it names batches. */
  readonly name: string
  readonly report?: (error: unknown) => void
  readonly journal?: RefundJournal | undefined
  readonly receipts?: ReceiptLog | undefined
}

export type WaitingCall =
  | ({ readonly kind: 'admit'; readonly caller: Caller } & Settle<Admission>)
  | ({ readonly kind: 'figures'; readonly caller: Caller } & Settle<MeterFigures>)

interface Settle<T> {
  resolve(value: T): void
  reject(error: MeteringUnavailable): void
}

/** Numbers batches, so that a lost response leaves no doubt whether the newest was committed. */
export class BatchWriter {
  readonly refunds: RefundQueue
  readonly #deps: BatchWriterDeps
  #batches = 0
  /** The newest that was answered with a count. */
  #answered = 0

  constructor(deps: BatchWriterDeps) {
    this.#deps = deps
    this.refunds = new RefundQueue(deps)
  }

  /**
   * Settles the whole batch, or nothing (`held`) if another session locks one of its rows. Never
   * rejects. `onCommitted` as in `GroupCommit`.
   */
  async decide(
    batch: readonly WaitingCall[],
    onCommitted: () => void,
  ): Promise<'answered' | 'held'> {
    const admits = batch.filter((each) => each.kind === 'admit')
    const asked = batch.filter((each) => each.kind === 'figures')
    const input = this.#next(admits, asked)
    const outcome: Outcome = { decided: undefined, stands: false }
    try {
      if (admits.length > 0) await this.refunds.resolveBatches()
      const decide = async (connection: Connection) => {
        outcome.decided = await decideBatch(connection, input)
        return outcome.decided
      }
      const committed = () => {
        outcome.stands = true
        onCommitted()
      }
      const { engine } = this.#deps
      const decided = await (admits.length > 0
        ? engine.write(decide, committed)
        : engine.snapshot(decide))
      this.#keepReceipts(input, decided)
      settleAll(admits, decided.admissions)
      settleAll(asked, decided.figures)
    } catch (cause) {
      if (cause instanceof LockTimeoutError && outcome.decided === undefined) return 'held'
      await this.#takeBack(input, outcome)
      const error = new MeteringUnavailable('cannot count calls in the accounts store', { cause })
      for (const each of batch) each.reject(error)
    }
    return 'answered'
  }

  #next(admits: readonly WaitingCall[], asked: readonly WaitingCall[]): Batch {
    const { name, clock, pricePerCall } = this.#deps
    this.#batches += 1
    return {
      id: { meter: name, number: this.#batches },
      day: startOfDay(unixNow(clock)),
      pricePerCall,
      admits: admits.map((each) => each.caller),
      figures: asked.map((each) => each.caller),
    }
  }

  /** A database that failed over may hold fewer batches than were answered. */
  #keepReceipts(batch: Batch, { previousBatch: after, admissions }: Decisions): void {
    if (after === undefined) return
    const { receipts, report } = this.#deps
    const { meter, number } = batch.id
    if (after < this.#answered) {
      receipts?.add({ kind: 'lost', meter, after, through: this.#answered })
      report?.(
        new Error(
          `the accounts lost up to ${this.#answered - after} batches of calls that were answered; run "sexton audit --after-failover"`,
        ),
      )
    }
    this.#answered = number
    receipts?.addCalls(batch, admissions)
  }

  /** Refunds a committed batch; a commit without response is unresolved. */
  async #takeBack({ id, day }: Batch, { decided, stands }: Outcome): Promise<void> {
    const receipts = receiptsOf(decided?.admissions ?? [])
    if (stands) await this.refunds.refundAll(receipts)
    else if (receipts.length > 0) await this.refunds.resolveLater({ id, day, receipts })
  }
}

interface Outcome {
  decided: Decisions | undefined
  stands: boolean
}

function receiptsOf(admissions: readonly Admission[]): readonly AdmissionReceipt[] {
  return admissions.flatMap((each) => (each.kind === 'admitted' ? [each.receipt] : []))
}

function settleAll<T>(waiting: readonly Settle<T>[], values: readonly T[]): void {
  for (const [index, each] of waiting.entries()) {
    const value = values[index]
    assert(value !== undefined, 'a decision for every request of the batch')
    each.resolve(value)
  }
}
