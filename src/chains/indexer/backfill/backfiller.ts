import assert from 'node:assert/strict'
import type { Position } from '#chains/chain/chain-event.ts'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import { HISTORY_MARGIN, readBlocks } from '#chains/chain/follow.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/async.ts'
import type { AnyDataset, HistoryFold, Store } from '../dataset.ts'
import type { Anomaly, Segment } from '../segment.ts'
import { headFiltersOf } from '../select-logs.ts'
import { type CommitDeps, stageLogs } from '../transaction.ts'
import { type Backfill, readBackfill } from './backfill-row.ts'
import { commitFolded, commitMeeting, commitOlder, type Folded } from './commit-older.ts'
import { FlushSchedule } from './flush-schedule.ts'
import { type ReadDeps, readSegments } from './read-segments.ts'

const MEETING_BLOCKS_MAX = 5_000 + HISTORY_MARGIN

/** Three round trips usually read all of them. */
const MEETING_BLOCKS_AT_ONCE = 640

interface OpenFolds {
  readonly folds: ReadonlyMap<AnyDataset, HistoryFold>
  readonly at: Position
  readonly schedule: FlushSchedule
  readonly anomalies: readonly Anomaly[]
}

export interface BackfillerDeps extends CommitDeps {
  readonly source: ChainSource
  readonly flushEveryMs?: number
}

/** Reads below the newest days, oldest first, while new blocks come in above. */
export class Backfiller {
  readonly #read: ReadDeps
  readonly #deps: BackfillerDeps
  readonly #chain: Chain
  #backfill: Backfill | undefined
  #opened: OpenFolds | undefined
  #segments: AsyncIterator<Segment> | undefined
  #reading = new AbortController()
  #ahead: Promise<IteratorResult<Segment>> | undefined
  /** The last two commits: one may be queued while reading continues. */
  #commit: Promise<void> = Promise.resolve()
  #earlier: Promise<void> = Promise.resolve()
  #commitsUnderWay = 0

  constructor(read: ReadDeps, deps: BackfillerDeps, chain: Chain) {
    this.#read = read
    this.#deps = deps
    this.#chain = chain
  }

  get isComplete(): boolean {
    return this.#backfill === undefined
  }

  get isReading(): boolean {
    return this.#segments !== undefined
  }

  /** It skips new blocks until the backfill has caught up. */
  isAwaitedBy(dataset: AnyDataset): boolean {
    if (this.#backfill === undefined || dataset.origins !== undefined) return false
    const { datasets } = this.#backfill
    return datasets?.includes(dataset.name) ?? dataset.openHistory !== undefined
  }

  /** Resolves when nothing is being stored, even after a failure. */
  async idle(): Promise<void> {
    await this.#commit.catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.idle()
    this.#forget()
  }

  resume(backfill: Backfill | undefined): void {
    const ours = this.#backfill
    const isSame =
      ours?.read.hash === backfill?.read.hash &&
      ours?.folded.hash === backfill?.folded.hash &&
      ours?.datasets?.join() === backfill?.datasets?.join()
    if (isSame) return
    this.#forget()
    this.#backfill = backfill
  }

  /** Queues the segment's commit. `met`: the limit is reached. */
  async readSome(limit: number): Promise<'more' | 'met' | 'nothing'> {
    const backfill = this.#backfill
    if (backfill === undefined) return 'nothing'
    try {
      const opened = await this.#openFolds(backfill)
      if (opened.at.number >= limit) return 'met'
      this.#segments ??= this.#open(backfill, opened, limit)
      const next = await (this.#ahead ?? this.#segments.next())
      this.#ahead = undefined
      if (next.done === true) this.#segments = undefined
      else await this.#store(opened, next.value)
      return 'more'
    } catch (error) {
      await this.idle()
      this.#forget()
      throw error
    }
  }

  readAhead(limit: number): void {
    const backfill = this.#stored()
    const { newestFrom, read } = backfill
    if (read.number + 1 >= newestFrom.number) return
    this.#ahead = this.#openFolds(backfill).then((opened) => {
      this.#segments = this.#open(backfill, opened, limit)
      return this.#segments.next()
    })
    this.#ahead.catch(() => undefined)
  }

  async #store({ anomalies: before, ...opened }: OpenFolds, segment: Segment): Promise<void> {
    await this.#earlier
    const { end, drained } = segment
    const { number, hash } = this.#stored().read
    if (end.number === number && end.hash !== hash)
      throw new RpcError(`block ${number} is ${end.hash}, but events are stored up to ${hash}`)
    const anomalies = [...before, ...segment.foldedAnomalies]
    const isDue = drained !== undefined
    this.#opened = { ...opened, at: end, anomalies: isDue ? [] : anomalies }
    if (segment.staged.length === 0 && !isDue) return
    this.#begin(segment, isDue ? { stores: drained, anomalies } : undefined)
  }

  /** Starts commits in order; a failure surfaces where the next commit is awaited. */
  #begin(segment: Segment, due: Folded | undefined): void {
    this.#earlier = this.#commit
    this.#commitsUnderWay += 1
    this.#commit = this.#earlier
      .then(() => this.#storeSegment(segment, due))
      .finally(() => {
        this.#commitsUnderWay -= 1
      })
    this.#commit.catch(() => undefined)
  }

  async #storeSegment(segment: Segment, due: Folded | undefined): Promise<void> {
    const backfill = this.#stored()
    const chainId = this.#chain.id
    this.#backfill = await commitOlder(this.#deps, { chainId, backfill, segment, due })
    if (due !== undefined) this.#opened?.schedule.end()
  }

  /**
   * Stores the folds while the last blocks are read, then ends the backfill. False if the position
   * left the chain: undo the reorg first.
   */
  async meet(position: Position): Promise<boolean> {
    try {
      const opened = await this.#openFolds(this.#stored())
      const { folds, at } = opened
      assert(at.number <= position.number, 'the older history went beyond the position')
      const waiting = this.#deps.datasets.filter(
        (each) => each.origins !== undefined || this.isAwaitedBy(each),
      )
      const [logs, stored] = await allEnded([
        this.#logsBetween(waiting, at, position),
        this.#storeFolded(opened),
      ])
      if (logs === undefined) return false
      await commitMeeting(this.#deps, {
        chainId: this.#chain.id,
        backfill: stored,
        folds: [...folds.values()],
        ...(await stageLogs(waiting, logs)),
      })
      this.#backfill = undefined
      return true
    } finally {
      // A pending commit must not land after the store is read again.
      await this.idle()
      this.#forget()
    }
  }

  async #storeFolded({ folds, at, anomalies }: OpenFolds): Promise<Backfill> {
    await this.#commit
    const backfill = this.#stored()
    if (backfill.folded.hash === at.hash) return backfill
    const due = { stores: drain(folds), anomalies }
    const stored = await commitFolded(this.#deps, {
      chainId: this.#chain.id,
      backfill,
      end: at,
      due,
    })
    this.#backfill = stored
    return stored
  }

  #stored(): Backfill {
    assert(this.#backfill !== undefined, 'there is no older history')
    return this.#backfill
  }

  async #openFolds(backfill: Backfill): Promise<OpenFolds> {
    if (this.#opened !== undefined) return this.#opened
    const folds = new Map<AnyDataset, HistoryFold>()
    for (const dataset of this.#readFor(backfill)) {
      const fold = dataset.openHistory?.(this.#chain.id, backfill.newestFrom.timestamp)
      if (fold !== undefined) folds.set(dataset, fold)
    }
    // A new fold has nothing to load, and its row may not be stored yet.
    const isBegun = backfill.folded.hash !== '0x'
    if (isBegun)
      await this.#deps.engine.snapshot(async (reads) => {
        const stored = await readBackfill(reads, this.#chain.id)
        if (stored?.folded.hash !== backfill.folded.hash)
          throw new Error('another process moved the backfill while it was being loaded')
        for (const fold of folds.values()) await fold.load(reads)
      })
    // Without folds nothing is read again.
    const at = folds.size === 0 ? backfill.read : backfill.folded
    const { clock, flushEveryMs } = this.#deps
    const schedule = new FlushSchedule(clock, {
      after: at.number,
      ...(flushEveryMs !== undefined && { everyMs: flushEveryMs }),
    })
    this.#opened = { folds, at, schedule, anomalies: [] }
    return this.#opened
  }

  #readFor({ datasets: names }: Backfill): readonly AnyDataset[] {
    const datasets = this.#deps.datasets.filter(({ origins }) => origins === undefined)
    return names === null ? datasets : datasets.filter(({ name }) => names.includes(name))
  }

  /**
   * Stored blocks are read again for the folds only. Below `newestFrom` all datasets are read, above
   * it only folds and re-indexed datasets. During a commit `read` may be stale, but never beyond the
   * folds.
   */
  #open(
    backfill: Backfill,
    { folds, at, schedule }: OpenFolds,
    limit: number,
  ): AsyncIterator<Segment> {
    const { newestFrom, read, datasets } = backfill
    const from = at.number + 1
    const unfolded = this.#readFor(backfill).filter((each) => !folds.has(each))
    const again = { to: Math.min(read.number, limit), datasets: [] }
    const below = { to: Math.min(newestFrom.number - 1, limit), datasets: unfolded }
    const above = { to: limit, datasets: datasets === null ? [] : unfolded }
    const phases = [again, below, above]
    const isStoring = () => this.#commitsUnderWay > 0
    const isWanted = (number: number) => !isStoring() && schedule.isDue(number, limit)
    const drainWhenDue = (number: number) =>
      schedule.isDue(number, limit) ? schedule.begin(drain(folds)) : undefined
    const { signal } = this.#reading
    const input = {
      from,
      phases,
      folds,
      hoursFromUnix: newestFrom.timestamp,
      signal,
      isStoring,
      isWanted,
      drain: drainWhenDue,
    }
    return readSegments(this.#read, input)[Symbol.asyncIterator]()
  }

  async #logsBetween(
    datasets: readonly AnyDataset[],
    read: Position,
    position: Position,
  ): Promise<readonly Log[] | undefined> {
    const distance = position.number - read.number
    if (distance > MEETING_BLOCKS_MAX)
      throw new RpcError(`${distance} blocks are not final; waiting for the chain to finalize them`)
    const { id, proofs } = this.#chain
    const filters = headFiltersOf(datasets, id)
    const { source } = this.#deps
    const head = await source.header(position.number)
    if (head?.hash !== position.hash) return undefined
    const logs: Log[] = []
    let parent: Pick<BlockHeader, 'number' | 'hash'> = read
    while (parent.number < head.number) {
      const last = parent.hash === '0x' ? undefined : parent
      const from = parent.number + 1
      const range = { from, head, blocksMax: MEETING_BLOCKS_AT_ONCE }
      const blocks = await readBlocks({ source, filters, proofs }, last, range)
      for (const block of blocks) for (const log of block.logs) logs.push(log)
      parent = blocks.at(-1)?.header ?? head
    }
    return logs
  }

  #forget(): void {
    this.#commit = Promise.resolve()
    this.#earlier = Promise.resolve()
    this.#reading.abort()
    this.#reading = new AbortController()
    this.#segments?.return?.().catch(() => undefined)
    this.#segments = undefined
    this.#ahead = undefined
    this.#opened = undefined
  }
}

function drain(folds: OpenFolds['folds']): readonly Store[] {
  return [...folds.values()].map((fold) => fold.drain())
}
