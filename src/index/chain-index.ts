import assert from 'node:assert/strict'
import type { ChainEvent, ChainSource, Position } from '#chain/chain-source.ts'
import { ancestor, type FollowDeps, followChain } from '#chain/follow.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { type CommitDeps, commitBlocks, commitSegment, markTip, rollBack } from './commit.ts'
import { buildHeadFilters } from './dataset.ts'
import { followEmitters, readFactories } from './found-contracts.ts'
import { type ReadDeps, readSegments, type Segment } from './read-segments.ts'
import { readPosition, storedBlock } from './status.ts'

export interface ChainIndexDeps extends CommitDeps {
  readonly source: ChainSource
  /** Ends what is read ahead. */
  readonly signal?: AbortSignal
  onRead?: ReadDeps['onRead']
}

/** A chain that stays shorter on another branch for so many polls has reorganised. */
const FORKED_POLLS = 5

/** The aggregators of a feed change once in years, with notice of days. */
const ASK_AGAIN_MS = 10 * 60_000

/** Reads a chain forward: history in segments, then block by block at the head. */
export class ChainIndex {
  readonly #deps: ChainIndexDeps
  readonly #chain: Chain
  readonly #reading: ReadDeps
  #position: Position | undefined
  /** False after a failure: a commit's outcome is unknown, so the store is read again. */
  #known = false
  #marks = ''
  #forkedPolls = 0
  #segments: AsyncIterator<Segment> | undefined
  #askedMs = 0

  constructor(deps: ChainIndexDeps, chain: Chain) {
    this.#deps = deps
    this.#chain = chain
    const { source, clock, onRead = () => undefined } = deps
    this.#reading = { source, clock, onRead }
  }

  get position(): Position | undefined {
    return this.#position
  }

  /** Stores what came since the last call: a segment, or the next blocks. */
  async followOnce(): Promise<ChainEvent> {
    try {
      if (!this.#known || this.#isTimeToAsk()) await this.#load()
      return await this.#followOnce()
    } catch (error) {
      this.#known = false
      await this.close()
      throw error
    }
  }

  /** Ends what is read ahead. */
  async close(): Promise<void> {
    const segments = this.#segments
    this.#segments = undefined
    await segments?.return?.()
  }

  async #load(): Promise<void> {
    const { engine, datasets } = this.#deps
    await this.close()
    this.#position = await engine.snapshot((reads) => readPosition(reads, this.#chain.id))
    await followEmitters(this.#deps, this.#chain, this.#position)
    this.#askedMs = this.#deps.clock()
    await engine.snapshot((reads) =>
      Promise.all(datasets.map((each) => each.load?.(reads, this.#chain.id))),
    )
    this.#known = true
  }

  /** Whether the chain may have other contracts that emit prices by now. */
  #isTimeToAsk(): boolean {
    const { datasets, clock } = this.#deps
    const isAsked = datasets.some(({ origins }) =>
      origins?.emitters.some(({ found }) => found.chainId === this.#chain.id),
    )
    return isAsked && clock() - this.#askedMs >= ASK_AGAIN_MS
  }

  async #followOnce(): Promise<ChainEvent> {
    const follower = this.#follower()
    const event = await followChain(follower, this.#position)
    this.#forkedPolls = event.kind === 'behind' && event.forked ? this.#forkedPolls + 1 : 0
    const outcome =
      this.#forkedPolls >= FORKED_POLLS ? await reorgToShorter(follower, event) : event
    const hasNews = outcome.kind !== 'idle' || nameMarks(outcome) !== this.#marks
    if (hasNews) this.#position = await this.#apply(outcome)
    this.#marks = nameMarks(outcome)
    return outcome
  }

  #follower(): FollowDeps {
    const { engine, source, datasets } = this.#deps
    const { id, startBlock, finality, proofs } = this.#chain
    return {
      source,
      filters: buildHeadFilters(datasets, id),
      startBlock,
      finality,
      proofs,
      stored: (number) => engine.snapshot((reads) => storedBlock(reads, { chainId: id, number })),
    }
  }

  async #apply(event: ChainEvent): Promise<Position | undefined> {
    const deps = this.#deps
    const expected = this.#position
    const step = { chainId: this.#chain.id, tip: event.tip, expected }
    if (event.kind !== 'history') await this.close()
    switch (event.kind) {
      case 'history': {
        const segment = await this.#nextSegment(event)
        return segment === undefined ? expected : commitSegment(deps, { ...step, segment })
      }
      case 'blocks':
        return commitBlocks(deps, {
          ...step,
          logs: event.blocks.flatMap((block) => block.logs),
          headers: event.blocks.map((block) => block.header),
        })
      case 'reorg':
        assert(expected !== undefined, 'a reorg needs a position to leave')
        return rollBack(deps, { ...step, expected, ancestor: event.ancestor })
      case 'idle':
        if (expected !== undefined) await markTip(deps, { ...step, expected })
        return expected
      case 'behind':
        return expected
    }
  }

  async #nextSegment({
    from,
    to,
  }: Extract<ChainEvent, { kind: 'history' }>): Promise<Segment | undefined> {
    const { datasets, signal } = this.#deps
    if (this.#segments === undefined) {
      const range = { chainId: this.#chain.id, from, to }
      await readFactories(this.#reading, this.#deps, range)
      const input = { from, to, datasets, signal }
      this.#segments = readSegments(this.#reading, input)
    }
    const { done, value } = await this.#segments.next()
    if (done !== true) return value
    this.#segments = undefined
    return undefined
  }
}

function nameMarks(event: ChainEvent): string {
  const { head, safe, finalized } = event.tip
  return [head.number, safe, finalized].join('.')
}

async function reorgToShorter(follower: FollowDeps, event: ChainEvent): Promise<ChainEvent> {
  const { tip } = event
  return { kind: 'reorg', tip, ancestor: await ancestor(follower, tip.head.number + 1) }
}
