import assert from 'node:assert/strict'
import { BlockClock } from '#chains/chain/block-clock.ts'
import type { ChainEvent, Position } from '#chains/chain/chain-event.ts'
import {
  ancestor,
  DeepReorgError,
  type FollowDeps,
  follow,
  HISTORY_MARGIN,
} from '#chains/chain/follow.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { Mutex } from '#lib/async.ts'
import { readBackfill } from './backfill/backfill-row.ts'
import { Backfiller, type BackfillerDeps } from './backfill/backfiller.ts'
import type { Phase } from './backfill/open-phase.ts'
import { planBackfill } from './backfill/plan-backfill.ts'
import { type ReadDeps, type ReadInput, readSegments } from './backfill/read-segments.ts'
import { commitBlocks, commitSegment, markTip, rollBack } from './commit.ts'
import { followEmitters } from './found-contracts/follow-emitters.ts'
import { readFactoriesUpTo } from './found-contracts/read-factories.ts'
import { readPosition, storedBlock } from './positions.ts'
import type { Segment } from './segment.ts'
import { headFiltersOf } from './select-logs.ts'

export interface ChainIndexDeps extends BackfillerDeps {
  onRead?: ReadDeps['onRead']
}

/** A chain that stays shorter on another branch for so many polls has reorganised. */
const FORKED_POLLS = 5

/** The aggregators of a feed change once in years, with notice of days. */
const ASK_AGAIN_MS = 10 * 60_000

/**
 * First the newest days of datasets that need no older history, then new blocks and the backfill,
 * finally the head alone.
 */
export class ChainIndex {
  readonly #deps: ChainIndexDeps
  readonly #chain: Chain
  readonly #backfiller: Backfiller
  readonly #blockClock: BlockClock
  /** The commit that ends the backfill must not overlap steps at the head. */
  readonly #steps = new Mutex()
  #position: Position | undefined
  /** False after a failure: a commit's outcome is unknown, so the store is read again. */
  #known = false
  #historyTo: number | undefined
  /** The chain contradicts final blocks: trust nothing until it agrees. */
  #isTorn = false
  #marks = ''
  #forkedPolls = 0
  #segments: AsyncIterator<Segment> | undefined
  #askedMs = 0

  constructor(deps: ChainIndexDeps, chain: Chain) {
    this.#deps = deps
    this.#chain = chain
    this.#blockClock = new BlockClock(deps.source)
    this.#backfiller = new Backfiller(this.#readDeps(), deps, chain)
  }

  get position(): Position | undefined {
    return this.#position
  }

  followOnce(): Promise<ChainEvent> {
    return this.#steps.run(async () => {
      await this.#askAgain()
      return this.#guarded(() => this.#followOnce())
    })
  }

  async readOlder(): Promise<boolean> {
    if (!this.#known) await this.#steps.run(() => this.#guarded(async () => undefined))
    const historyTo = this.#historyTo
    if (historyTo === undefined || this.#isTorn) return false
    const missing = await this.#readSome(historyTo).catch((error: unknown) => {
      this.#known = false
      throw error
    })
    if (missing !== 'met') return missing === 'more'
    return this.#steps.run(() => this.#guarded(() => this.#meet()))
  }

  async #readSome(limit: number) {
    const isOpening = !this.#backfiller.isComplete && !this.#backfiller.isReading
    if (isOpening && (await this.#readFactories(limit)))
      await this.#steps.run(() => this.#loadFound())
    return this.#backfiller.readSome(limit)
  }

  get isComplete(): boolean {
    return this.#position !== undefined && this.#backfiller.isComplete
  }

  /** Ends what is read or stored, for another index of the chain. */
  async close(): Promise<void> {
    await this.#dropSegments()
    await this.#backfiller.close()
  }

  async #guarded<T>(step: () => Promise<T>): Promise<T> {
    try {
      if (!this.#known) await this.#load()
      return await step()
    } catch (error) {
      this.#known = false
      if (error instanceof DeepReorgError) this.#isTorn = true
      await this.#dropSegments()
      throw error
    }
  }

  async #load(): Promise<void> {
    const { engine } = this.#deps
    const { id } = this.#chain
    await this.#backfiller.idle()
    await followEmitters(this.#deps, this.#chain)
    this.#askedMs = this.#deps.clock()
    const stored = await engine.snapshot(async (reads) => ({
      position: await readPosition(reads, id),
      backfill: await readBackfill(reads, id),
    }))
    await this.#loadFound()
    this.#position = stored.position
    this.#backfiller.resume(stored.backfill)
    this.#known = true
  }

  /** Runs within a step, so that it forgets nothing that another one has learned. */
  async #loadFound(): Promise<void> {
    const { engine, datasets } = this.#deps
    await engine.snapshot((reads) =>
      Promise.all(datasets.map((each) => each.load?.(reads, this.#chain.id))),
    )
  }

  /** Makes the next step ask which contracts emit prices, if it is time. */
  async #askAgain(): Promise<void> {
    const isAsked = this.#deps.datasets.some(({ origins }) =>
      origins?.emitters.some(({ found }) => found.chainId === this.#chain.id),
    )
    if (!isAsked || this.#deps.clock() - this.#askedMs < ASK_AGAIN_MS) return
    await this.#dropSegments()
    this.#known = false
  }

  async #followOnce(): Promise<ChainEvent> {
    const follower = this.#follower()
    if (this.#position === undefined) this.#askFirstBlock()
    const event = await follow(follower, this.#position)
    this.#forkedPolls = event.kind === 'behind' && event.forked ? this.#forkedPolls + 1 : 0
    const outcome =
      this.#forkedPolls >= FORKED_POLLS ? await reorgToShorter(follower, event) : event
    if (outcome.kind !== 'behind') this.#isTorn = false
    const hasNews = outcome.kind !== 'idle' || marksOf(outcome) !== this.#marks
    if (hasNews) this.#position = await this.#apply(outcome)
    this.#marks = marksOf(outcome)
    // Not before a reorg is undone: the finalized block may lie above the common ancestor.
    const isKnown = outcome.kind !== 'behind' && outcome.tip.finalized > 0
    if (this.#position !== undefined && isKnown) {
      const to = Math.min(outcome.tip.finalized - HISTORY_MARGIN, this.#position.number)
      this.#historyTo = Math.max(this.#historyTo ?? to, to)
    }
    return outcome
  }

  /** Asks for the first block, which the plan needs, while the head is asked for. */
  #askFirstBlock(): void {
    this.#blockClock.at(this.#chain.startBlock).catch(() => undefined)
  }

  /** The datasets that do not wait for the backfill. */
  #datasets() {
    return this.#deps.datasets.filter((each) => !this.#backfiller.isAwaitedBy(each))
  }

  #follower(): FollowDeps {
    const { engine, source } = this.#deps
    const { id, startBlock, finality, proofs } = this.#chain
    return {
      source,
      filters: headFiltersOf(this.#datasets(), id),
      startBlock,
      finality,
      proofs,
      stored: (number) => engine.snapshot((reads) => storedBlock(reads, { chainId: id, number })),
    }
  }

  async #apply(event: ChainEvent): Promise<Position | undefined> {
    const position = this.#position
    const deps = { ...this.#deps, datasets: this.#datasets() }
    const common = { chainId: this.#chain.id, tip: event.tip, expected: position }
    if (event.kind !== 'history') await this.#dropSegments()
    switch (event.kind) {
      case 'history':
        return position === undefined ? this.#beginHistory(event) : this.#readHistory(event)
      case 'blocks':
        return commitBlocks(deps, {
          ...common,
          logs: event.blocks.flatMap((block) => block.logs),
          headers: event.blocks.map((block) => block.header),
        })
      case 'reorg':
        assert(position !== undefined, 'a reorg needs a position to leave')
        return rollBack(deps, { ...common, expected: position, ancestor: event.ancestor })
      case 'idle':
        if (position !== undefined) await markTip(deps, { ...common, expected: position })
        return position
      case 'behind':
        return position
    }
  }

  async #beginHistory({ tip, to }: Extract<ChainEvent, { kind: 'history' }>): Promise<Position> {
    const { startBlock } = this.#chain
    const plan = await planBackfill(this.#blockClock, { startBlock, to, head: tip.head })
    this.#backfiller.resume(plan)
    if (await this.#readFactories(to)) await this.#loadFound()
    const from = plan.newestFrom.number
    const onFirst = (end: number) => this.#backfiller.readAhead(end)
    this.#segments = this.#open({ from, to, onFirst })
    return this.#storeNext({ tip, to, backfill: plan })
  }

  async #readHistory({
    tip,
    from,
    to,
  }: Extract<ChainEvent, { kind: 'history' }>): Promise<Position> {
    if (this.#segments === undefined && (await this.#readFactories(to))) await this.#loadFound()
    this.#segments ??= this.#open({ from, to })
    return this.#storeNext({ tip, to, backfill: undefined })
  }

  /** Whether contracts may have been found. */
  #readFactories(to: number): Promise<boolean> {
    const known = this.isComplete ? (this.#position?.number ?? -1) : -1
    return readFactoriesUpTo(this.#readDeps(), this.#deps, { chain: this.#chain, to, known })
  }

  async #storeNext(
    input: Pick<Parameters<typeof commitSegment>[1], 'tip' | 'backfill'> & Pick<Phase, 'to'>,
  ): Promise<Position> {
    const { to, ...common } = input
    const expected = this.#position
    const next = await this.#segments?.next()
    if (next === undefined || next.done === true) {
      this.#segments = undefined
      assert(expected !== undefined, 'history brought no segment')
      return expected
    }
    const position = await commitSegment(
      { ...this.#deps, datasets: this.#datasets() },
      { ...common, chainId: this.#chain.id, expected, segment: next.value },
    )
    if (position.number >= to) await this.#dropSegments()
    return position
  }

  #open({
    to,
    ...begun
  }: Pick<ReadInput, 'from' | 'onFirst'> & Pick<Phase, 'to'>): AsyncIterator<Segment> {
    return readSegments(this.#readDeps(), {
      ...begun,
      phases: [{ to, datasets: this.#datasets() }],
      folds: new Map(),
      isStoring: () => false,
      isWanted: () => false,
      drain: () => undefined,
    })[Symbol.asyncIterator]()
  }

  async #meet(): Promise<boolean> {
    assert(this.#position !== undefined, 'older history is missing below a position')
    const isMet = await this.#backfiller.meet(this.#position)
    // Segments read ahead lack the datasets that waited.
    if (isMet) await this.#dropSegments()
    return isMet
  }

  async #dropSegments(): Promise<void> {
    const segments = this.#segments
    this.#segments = undefined
    await segments?.return?.()
  }

  #readDeps(): ReadDeps {
    const { source, clock, onRead } = this.#deps
    return {
      source,
      clock,
      blockClock: this.#blockClock,
      onRead: onRead ?? (() => undefined),
    }
  }
}

function marksOf(event: ChainEvent): string {
  const { head, safe, finalized } = event.tip
  return [head.number, safe, finalized].join('.')
}

async function reorgToShorter(follower: FollowDeps, event: ChainEvent): Promise<ChainEvent> {
  const { tip } = event
  return { kind: 'reorg', tip, ancestor: await ancestor(follower, tip.head.number + 1) }
}
