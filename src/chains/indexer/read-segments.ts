import type { Clock } from '#lib/time.ts'
import { OpenSegment, type Segment, type SegmentDeps, type SegmentInput } from './open-segment.ts'
import { filtersOf, selectLogs, selectorsIn } from './select-logs.ts'
import { SideHistory } from './side-history.ts'

export interface ReadDeps extends SegmentDeps {
  readonly clock: Clock
}

export interface ReadInput extends SegmentInput {
  readonly from: number
  readonly to: number
  readonly signal?: AbortSignal | undefined
}

/** Larger commits cost less per log; bounded by memory. */
const LOGS_MAX = 50_000

/** Limits what a kill loses, and how long figures stand still. */
const COMMIT_EVERY_MS = 5_000

/**
 * Yields segments in block order. One filter leads, and the others catch up at each end. Reads the next
 * segment while the caller stores one.
 */
export async function* readSegments(deps: ReadDeps, input: ReadInput): AsyncGenerator<Segment> {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...(input.signal ? [input.signal] : [])])
  const segments = readEach(deps, input, signal)
  const readOn = () => {
    const next = segments.next()
    // Rethrown when consumed.
    next.catch(() => undefined)
    return next
  }
  try {
    for (let reading = readOn(); ; ) {
      const { done, value } = await reading
      if (done === true) return
      reading = readOn()
      yield await value.segment
    }
  } finally {
    stop.abort()
    await segments.return()
  }
}

/** A promise would be awaited by the generator that yields it. */
interface Ended {
  readonly segment: Promise<Segment>
}

async function* readEach(
  deps: ReadDeps,
  input: ReadInput,
  signal: AbortSignal,
): AsyncGenerator<Ended, void, void> {
  const { source, clock } = deps
  const { from, to, datasets } = input
  const [filter, ...others] = filtersOf(datasets, source.chainId)
  const sides = others.map((each, index) => {
    const earlier = [filter, ...others.slice(0, index)].filter((one) => one !== undefined)
    const known = selectLogs(earlier.flatMap((one) => selectorsIn(one, source.chainId)))
    return new SideHistory(source, { from, to, filter: each }, known.isWanted)
  })
  let segment = new OpenSegment(deps, input)
  let endedMs = clock()
  try {
    const lead = filter && source.history({ from, to, filter, signal })
    for await (const part of lead ?? []) {
      await segment.take(part, part.to)
      const isDue = segment.logs >= LOGS_MAX || clock() - endedMs >= COMMIT_EVERY_MS
      if (part.to < to && !isDue) continue
      for (const side of sides)
        for await (const more of side.upTo(part.to)) await segment.take(more, part.to)
      signal.throwIfAborted()
      const ended = closing(segment, part.to)
      segment = new OpenSegment(deps, input)
      endedMs = clock()
      yield ended
    }
    if (lead === undefined) yield closing(segment, to)
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
  }
}

function closing(open: OpenSegment, to: number): Ended {
  const segment = open.close(to)
  // Rethrown when consumed.
  segment.catch(() => undefined)
  return { segment }
}
