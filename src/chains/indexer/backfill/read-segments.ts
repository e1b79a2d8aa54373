import type { Clock } from '#lib/time.ts'
import type { Store } from '../dataset.ts'
import type { Segment } from '../segment.ts'
import { type OpenPhase, openPhase, type Phase } from './open-phase.ts'
import { OpenSegment, type SegmentDeps, type SegmentInput } from './open-segment.ts'

export interface ReadDeps extends SegmentDeps {
  readonly clock: Clock
}

export interface ReadInput extends Omit<SegmentInput, 'datasets'> {
  readonly signal?: AbortSignal
  readonly phases: readonly Phase[]
  /** Called after the first segment is read, before its end is known. */
  onFirst?(end: number): void
  isStoring(): boolean
  isWanted(number: number): boolean
  /** Returns the folds that are due; called between segments. */
  drain(number: number): readonly Store[] | undefined
}

/** Limits what a kill loses. */
const COMMIT_EVERY_MS = 5_000

const COMMIT_SHARE = 0.1

const FACTS_MAX = 10_000

/** Larger commits cost less per fact; bounded by memory. */
const FACTS_MAX_WHILE_STORING = 30_000

interface Rhythm {
  everyMs: number
}

/**
 * Yields segments in block order. One filter leads, and the others catch up at each end. Reads the next while the end
 * of one is asked for.
 */
export async function* readSegments(deps: ReadDeps, input: ReadInput): AsyncIterable<Segment> {
  const { clock } = deps
  const stop = new AbortController()
  const rhythm: Rhythm = { everyMs: COMMIT_EVERY_MS }
  const signal = AbortSignal.any([stop.signal, ...(input.signal ? [input.signal] : [])])
  const parts = readPhases(deps, { ...input, rhythm, signal })
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
      const segment = await value.segment
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
  readonly segment: Promise<Segment>
}

type Parts = AsyncGenerator<Part, void, void>

interface Reading extends ReadInput {
  readonly rhythm: Rhythm
  readonly signal: AbortSignal
}

async function* readPhases(deps: ReadDeps, input: Reading): Parts {
  const folded = [...input.folds.keys()]
  let phase = openPhase({ ...input, source: deps.source, folded })
  for (; phase !== undefined; phase = phase.next()) yield* readPhase(deps, input, phase)
}

async function* readPhase(
  deps: ReadDeps,
  input: Reading,
  { to, lead, sides, ...begun }: OpenPhase,
): Parts {
  const { clock } = deps
  const { folds, hoursFromUnix, rhythm, signal } = input
  const own = { ...begun, folds, ...(hoursFromUnix !== undefined && { hoursFromUnix }) }
  let segment = new OpenSegment(deps, own)
  if (lead === undefined) return void (yield end(input, segment, to))
  let endedMs = clock()
  try {
    for await (const part of lead) {
      await segment.take(part, part.to)
      const max = input.isStoring() ? FACTS_MAX_WHILE_STORING : FACTS_MAX
      const isFull = segment.size >= max
      const isLate = clock() - endedMs >= rhythm.everyMs
      if (part.to < to && !isFull && !isLate && !input.isWanted(part.to)) continue
      for (const side of sides)
        for await (const more of side.upTo(part.to)) await segment.take(more, part.to)
      signal.throwIfAborted()
      const ended = end(input, segment, part.to)
      segment = new OpenSegment(deps, { ...own, from: part.to + 1 })
      endedMs = clock()
      yield ended
    }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
  }
}

/** The end decides whether the node's data is to blame for what cannot be drained. */
function end(input: Pick<ReadInput, 'drain'>, open: OpenSegment, to: number): Part {
  const close = (): Promise<Segment> => {
    try {
      return open.close(to, input.drain(to))
    } catch (error) {
      return open.close(to, undefined).then(() => {
        throw error
      })
    }
  }
  const segment = close()
  // Rethrown when consumed.
  segment.catch(() => undefined)
  return { to, segment }
}
