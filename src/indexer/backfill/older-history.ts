import assert from 'node:assert/strict'
import type { Position } from '#chain/chain-event.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { HISTORY_MARGIN, readBlocks } from '#chain/follow.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { allEnded } from '#lib/all-ended.ts'
import type { AnyDataset, HistoryFold, Store } from '../dataset.ts'
import type { Anomaly, Segment } from '../segment.ts'
import { filtersOf } from '../select-logs.ts'
import { type CommitDeps, stageLogs } from '../transaction.ts'
import { type Backfill, readBackfill } from './backfill-row.ts'
import { commitFolded, commitMeeting, commitOlder, type Folded } from './commit-older.ts'
import { FlushRhythm } from './flush-rhythm.ts'
import { type ReadDeps, readSegments } from './read-segments.ts'

/** Blocks between the older history and the head that the meeting may hold in memory. */
const MEETING_BLOCKS_MAX = 5_000 + HISTORY_MARGIN

/** Blocks of the meeting read side by side: mostly all of them, so that it takes two round trips. */
const MEETING_BLOCKS_AT_ONCE = 640

/** Folds in memory, and the block up to which they are. */
interface OpenFolds {
  readonly folds: ReadonlyMap<AnyDataset, HistoryFold>
  readonly at: Position
  readonly rhythm: FlushRhythm
  /** Logs that they could not read, since they were last stored. */
  readonly anomalies: readonly Anomaly[]
}

export interface OlderHistoryDeps extends CommitDeps {
  readonly source: ChainSource
  /** How long what is folded may wait to be stored; ten seconds unless time is short. */
  readonly flushEveryMs?: number
}

/**
 * Reads what lies below the newest days of a chain, oldest first, while new blocks come in above.
 * Datasets that build on all earlier facts are read on up to the position, where both ways meet.
 */
export class OlderHistory {
  readonly #read: ReadDeps
  readonly #deps: OlderHistoryDeps
  readonly #chain: Chain
  #backfill: Backfill | undefined
  #opened: OpenFolds | undefined
  #segments: AsyncIterator<Segment> | undefined
  /** Ends the reading at once, also while it waits for an answer. */
  #reading = new AbortController()
  /** The first of them, where it was asked for before its turn. */
  #ahead: Promise<IteratorResult<Segment>> | undefined
  /** Nothing of it is believed before the newest days are stored. */
  #newestStored: Promise<unknown> = Promise.resolve()
  /** The last commit, and the one before it: one may wait for another, and reading goes on. */
  #commit: Promise<void> = Promise.resolve()
  #earlier: Promise<void> = Promise.resolve()
  #commitsUnderWay = 0

  constructor(read: ReadDeps, deps: OlderHistoryDeps, chain: Chain) {
    const anchor = async () => {
      await this.#newestStored
      return read.anchor()
    }
    this.#read = { ...read, anchor }
    this.#deps = deps
    this.#chain = chain
  }

  get isComplete(): boolean {
    return this.#backfill === undefined
  }

  /** Whether a dataset skips new blocks until the older history has caught up with them. */
  isAwaitedBy(dataset: AnyDataset): boolean {
    if (this.#backfill === undefined) return false
    const { datasets } = this.#backfill
    return datasets?.includes(dataset.name) ?? dataset.openHistory !== undefined
  }

  /** Resolves when nothing is being stored, whatever came of it. */
  async settled(): Promise<void> {
    await this.#commit.catch(() => undefined)
  }

  /** Goes on where an earlier process stopped, or begins where nothing is read yet. */
  resume(backfill: Backfill | undefined): void {
    const ours = this.#backfill
    const isSame =
      ours?.read.hash === backfill?.read.hash && ours?.folded.hash === backfill?.folded.hash
    if (isSame) return
    this.#forget()
    this.#backfill = backfill
  }

  /**
   * Reads the next segment up to a height while those before are being stored, and has it stored
   * after them; tells whether there is more or the head is met.
   */
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
      await this.settled()
      this.#forget()
      throw error
    }
  }

  /** Begins to read what is older than the newest days while these are being stored. */
  readAhead(limit: number, storing: Promise<Position>): void {
    const backfill = this.#stored()
    const { floor, read } = backfill
    if (read.number + 1 >= floor.number) return
    this.#newestStored = storing
    this.#ahead = this.#openFolds(backfill).then((opened) => {
      this.#segments = this.#open(backfill, opened, limit)
      return this.#segments.next()
    })
    this.#ahead.catch(() => undefined)
  }

  /** Events are stored at once; what is folded in memory when it is due. */
  async #store({ anomalies: before, ...opened }: OpenFolds, segment: Segment): Promise<void> {
    await this.#earlier
    const { end, drained } = segment
    const { number, hash } = this.#stored().read
    if (end.number === number && end.hash !== hash)
      throw new RpcError(`block ${number} is not the one that events are stored up to`)
    const anomalies = [...before, ...segment.foldedAnomalies]
    const isDue = drained !== undefined
    this.#opened = { ...opened, at: end, anomalies: isDue ? [] : anomalies }
    if (segment.staged.length === 0 && !isDue) return
    this.#begin(segment, isDue ? { stores: drained, anomalies } : undefined)
  }

  /** Stores after what is being stored. A failure is met by whoever waits for a commit next. */
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
    if (due !== undefined) this.#opened?.rhythm.end()
  }

  /**
   * The last blocks up to the position are read one by one, while all that is folded is being stored,
   * and stored with the end of the history.
   * Gives false while the position is not on the chain: a reorg must be undone first.
   */
  async meet(position: Position): Promise<boolean> {
    try {
      const opened = await this.#openFolds(this.#stored())
      const { folds, at } = opened
      assert(at.number <= position.number, 'the older history went beyond the position')
      const waiting = this.#deps.datasets.filter((each) => this.isAwaitedBy(each))
      const [logs, stored] = await allEnded([
        this.#logsBetween(waiting, at, position),
        this.#storeFolded(opened),
      ])
      if (logs === undefined) return false
      await commitMeeting(this.#deps, {
        chainId: this.#chain.id,
        backfill: stored,
        folds: [...folds.values()],
        ...stageLogs(waiting, logs),
      })
      this.#backfill = undefined
      return true
    } finally {
      // What is being stored must not come in after the store was looked at anew.
      await this.settled()
      this.#forget()
    }
  }

  /** Stores what is folded and not stored yet, after what is being stored already. */
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
      const fold = dataset.openHistory?.(this.#chain.id)
      if (fold !== undefined) folds.set(dataset, fold)
    }
    // One that begins has nothing to load, nor its row, which is only now being stored.
    const isBegun = backfill.folded.hash !== '0x'
    if (isBegun)
      await this.#deps.engine.snapshot(async (reads) => {
        const stored = await readBackfill(reads, this.#chain.id)
        if (stored?.folded.hash !== backfill.folded.hash)
          throw new Error('the older history moved while it was taken up')
        for (const fold of folds.values()) await fold.load(reads)
      })
    // Without anything to fold there is nothing to be read again.
    const at = folds.size === 0 ? backfill.read : backfill.folded
    const { clock, flushEveryMs } = this.#deps
    const rhythm = new FlushRhythm(clock, {
      after: at.number,
      ...(flushEveryMs !== undefined && { everyMs: flushEveryMs }),
    })
    this.#opened = { folds, at, rhythm, anomalies: [] }
    return this.#opened
  }

  /** The datasets to read older history for. */
  #readFor({ datasets: names }: Backfill): readonly AnyDataset[] {
    const { datasets } = this.#deps
    return names === null ? datasets : datasets.filter(({ name }) => names.includes(name))
  }

  /**
   * Blocks whose events are stored are read once more for what is folded; then, below the floor,
   * everything is new; above it only what builds on all that is older, and what is read again. While a
   * commit is under way `read` is older than it will be, but never beyond what is folded.
   */
  #open(
    backfill: Backfill,
    { folds, at, rhythm }: OpenFolds,
    limit: number,
  ): AsyncIterator<Segment> {
    const { floor, read, datasets } = backfill
    const from = at.number + 1
    const unfolded = this.#readFor(backfill).filter((each) => !folds.has(each))
    const again = { to: Math.min(read.number, limit), datasets: [] }
    const below = { to: Math.min(floor.number - 1, limit), datasets: unfolded }
    const above = { to: limit, datasets: datasets === null ? [] : unfolded }
    const stretches = [again, below, above]
    // A history that begins stands on no block.
    const after = at.hash === '0x' ? undefined : at
    const isStoring = () => this.#commitsUnderWay > 0
    const isWanted = (number: number) => !isStoring() && rhythm.isDue(number, limit)
    const drainWhenDue = (number: number) =>
      rhythm.isDue(number, limit) ? rhythm.begin(drain(folds)) : undefined
    const { signal } = this.#reading
    const input = {
      from,
      stretches,
      after,
      folds,
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
    const filters = filtersOf(datasets, id)
    const source = withHeadersAhead(this.#deps.source, read.number + 1, position.number)
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

  /** What is folded in memory may be ahead of the store; it is loaded anew from there. */
  #forget(): void {
    this.#commit = Promise.resolve()
    this.#earlier = Promise.resolve()
    this.#reading.abort()
    this.#reading = new AbortController()
    this.#segments?.return?.().catch(() => undefined)
    this.#segments = undefined
    this.#ahead = undefined
    this.#newestStored = Promise.resolve()
    this.#opened = undefined
  }
}

/** The same source, already asked for the first headers of a stretch together with its last one. */
function withHeadersAhead(source: ChainSource, from: number, to: number): ChainSource {
  const ahead = Math.min(to - 1, from + MEETING_BLOCKS_AT_ONCE - 1)
  const numbers = [
    to,
    ...Array.from({ length: Math.max(0, ahead - from + 1) }, (_, at) => from + at),
  ]
  const asked = new Map(numbers.map((number) => [number, source.header(number)]))
  for (const header of asked.values()) header.catch(() => undefined)
  const header = (block: Parameters<ChainSource['header']>[0]) =>
    (typeof block === 'number' ? asked.get(block) : undefined) ?? source.header(block)
  return { ...source, header }
}

/** What each of the folds has for the store, as it stands now. */
function drain(folds: OpenFolds['folds']): readonly Store[] {
  return [...folds.values()].map((fold) => fold.drain())
}
