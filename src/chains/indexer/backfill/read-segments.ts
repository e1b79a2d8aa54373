import type { BlockRef } from '#domain/chain.ts'
import type { Clock } from '#lib/time.ts'
import type { Store } from '../dataset.ts'
import type { Segment } from '../segment.ts'
import { type OpenPhase, openPhase, type Phase } from './open-phase.ts'
import { type SegmentDeps, type SegmentInput, UnprovenSegment } from './unproven-segment.ts'

export interface ReadDeps extends SegmentDeps {
  readonly clock: Clock
}

export interface ReadInput extends Omit<SegmentInput, 'after' | 'datasets'> {
  readonly signal?: AbortSignal
  readonly phases: readonly Phase[]
  /** The stored block below `from`; undefined at the start. */
  readonly after: BlockRef | undefined
  /** Called after the first segment is read, before it is verified. */
  onFirst?(end: number): void
  isStoring(): boolean
  isWanted(number: number): boolean
  /** Returns the folds that are due; called between segments. */
  drain(number: number): readonly Store[] | undefined
}

/** Limits what a kill loses. */
const COMMIT_EVERY_MS = 5_000

const COMMIT_SHARE = 0.1

const MAX = { facts: 10_000, answers: 16 }

/** Larger commits cost less per fact; bounded by memory and one request's headers. */
const MAX_WHILE_STORING = { facts: 30_000, answers: 21 }

const CLAIMED_BLOCKS_MAX = 450

interface Rhythm {
  everyMs: number
}

/**
 * Yields segments in block order, each linked to the previous one. One filter leads, and the others catch up at
 * each end. Reads the next while one is proven.
 */
export async function* readSegments(deps: ReadDeps, input: ReadInput): AsyncIterable<Segment> {
  const { clock } = deps
  const stop = new AbortController()
  const rhythm: Rhythm = { everyMs: COMMIT_EVERY_MS }
  const signal = AbortSignal.any([stop.signal, ...(input.signal ? [input.signal] : [])])
  const parts = readAndProve(deps, { ...input, rhythm, signal })
  const readOn = () => {
    const next = parts.next()
    // Rethrown when consumed.
    next.catch(() => undefined)
    return next
  }
  try {
    for (let reading = readOn(), isFirst = true; ; isFirst = false) {
      const { done, value } = await reading
      if (done === true) return
      if (isFirst) input.onFirst?.(value.to)
      reading = readOn()
      const segment = await value.proof
      const readyMs = clock()
      yield segment
      rhythm.everyMs = Math.max(COMMIT_EVERY_MS, (clock() - readyMs) / COMMIT_SHARE)
    }
  } finally {
    stop.abort()
    await parts.return()
  }
}

interface Part {
  readonly to: number
  readonly proof: Promise<Segment>
  readonly last: Promise<BlockRef>
}

type Parts = AsyncGenerator<Part, void, void>

interface Reading extends ReadInput {
  readonly rhythm: Rhythm
  readonly signal: AbortSignal
}

async function* readAndProve(deps: ReadDeps, input: Reading): Parts {
  const folded = [...input.folds.keys()]
  let after: SegmentInput['after'] = Promise.resolve(input.after)
  let phase = openPhase({ ...input, source: deps.source, folded })
  for (; phase !== undefined; phase = phase.next())
    for await (const part of readPhase(deps, input, { ...phase, after })) {
      after = part.last
      yield part
    }
}

async function* readPhase(
  deps: ReadDeps,
  input: Reading,
  { to, lead, sides, ...begun }: OpenPhase & Pick<SegmentInput, 'after'>,
): Parts {
  const { clock } = deps
  const { folds, hoursFromUnix, rhythm, signal } = input
  const own = { ...begun, folds, ...(hoursFromUnix !== undefined && { hoursFromUnix }) }
  let segment = new UnprovenSegment(deps, own)
  if (lead === undefined) return void (yield end(input, segment, to))
  let endedMs = clock()
  try {
    for await (const part of lead) {
      await segment.take(part, part.to)
      const max = input.isStoring() ? MAX_WHILE_STORING : MAX
      const isProvable = segment.answers < max.answers && segment.claimedBlocks < CLAIMED_BLOCKS_MAX
      const isFull = segment.size >= max.facts || !isProvable
      const isLate = clock() - endedMs >= rhythm.everyMs
      if (part.to < to && !isFull && !isLate && !input.isWanted(part.to)) continue
      for (const side of sides)
        for await (const more of side.upTo(part.to)) await segment.take(more, part.to)
      signal.throwIfAborted()
      const ended = end(input, segment, part.to)
      segment = new UnprovenSegment(deps, { ...own, from: part.to + 1, after: ended.last })
      endedMs = clock()
      yield ended
    }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
  }
}

/** The proof decides whether the node's data is to blame. */
function end(input: Pick<ReadInput, 'drain'>, segment: UnprovenSegment, to: number): Part {
  const prove = (): Promise<Segment> => {
    try {
      return segment.prove(to, input.drain(to))
    } catch (error) {
      return segment.prove(to, undefined).then(() => {
        throw error
      })
    }
  }
  const proof = prove()
  const last = proof.then(({ end }) => end)
  last.catch(() => undefined)
  return { to, proof, last }
}
