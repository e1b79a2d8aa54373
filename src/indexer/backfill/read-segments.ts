import type { BlockRef } from '#domain/chain.ts'
import type { Clock } from '#lib/time.ts'
import type { Store } from '../dataset.ts'
import type { Segment } from '../segment.ts'
import { Draft, type DraftDeps, type DraftInput } from './draft.ts'
import { type OpenStretch, openStretch, type Stretch } from './open-stretch.ts'

export interface ReadDeps extends DraftDeps {
  readonly clock: Clock
}

export interface ReadInput extends Omit<DraftInput, 'after' | 'datasets'> {
  readonly signal?: AbortSignal
  /** What is read one after the other, each from where the one before ends. */
  readonly stretches: readonly Stretch[]
  /** The stored block that `from` follows; undefined where nothing is read yet. */
  readonly after: BlockRef | undefined
  /** Called when the first segment is read and not yet proven, with its last block. */
  onFirst?(end: number): void
  /** Whether an earlier segment is still being stored. */
  isStoring(): boolean
  /** Whether a segment should end at this block, however short it is. */
  isWanted(number: number): boolean
  /** Called where a segment ends, before anything of the next is read; gives what is due of the folds. */
  drain(number: number): readonly Store[] | undefined
}

/** A commit every so often keeps little to be read again after a kill. */
const COMMIT_EVERY_MS = 5_000

/** Commits may take this share of the time, however large they are. */
const COMMIT_SHARE = 0.1

/** Where a segment ends: nobody who could store it should wait for it. */
const MAX = { facts: 10_000, answers: 16 }

/**
 * Where it ends while those before it are still being stored: the larger it is, the less it takes for
 * each fact. Its facts lie in memory, and two headers prove each answer that brought logs: mostly one request.
 */
const MAX_WHILE_STORING = { facts: 30_000, answers: 21 }

/** Blocks that headers prove, where most answers bring nothing: ten requests. */
const TOLD_BLOCKS_MAX = 450

/** How often a segment ends for the time's sake. */
interface Rhythm {
  everyMs: number
}

/**
 * Reads final history in block order, each segment on the branch of the one before. One filter leads;
 * at the end of each segment the others catch up with it, so that it is complete up to its last block.
 * While a segment is being proven, and handed over, the next one is read: it is worth nothing where
 * the proof fails, and then nothing of it is handed over.
 */
export async function* readSegments(deps: ReadDeps, input: ReadInput): AsyncIterable<Segment> {
  const { clock } = deps
  const stop = new AbortController()
  const rhythm: Rhythm = { everyMs: COMMIT_EVERY_MS }
  const signal = AbortSignal.any([stop.signal, ...(input.signal ? [input.signal] : [])])
  const parts = readAndProve(deps, { ...input, rhythm, signal })
  const readOn = () => {
    const next = parts.next()
    // Thrown when its turn has come.
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

/** A segment that is read while its proof is under way. */
interface Part {
  readonly to: number
  readonly proof: Promise<Segment>
  /** The block that it ends with, once it is proven. */
  readonly last: Promise<BlockRef>
}

type Parts = AsyncGenerator<Part, void, void>

interface Reading extends ReadInput {
  readonly rhythm: Rhythm
  readonly signal: AbortSignal
}

/** Gives each segment as soon as it is read. */
async function* readAndProve(deps: ReadDeps, input: Reading): Parts {
  const folded = [...input.folds.keys()]
  let after: DraftInput['after'] = Promise.resolve(input.after)
  let stretch = openStretch({ ...input, source: deps.source, folded })
  for (; stretch !== undefined; stretch = stretch.next())
    for await (const part of readStretch(deps, input, { ...stretch, after })) {
      after = part.last
      yield part
    }
}

async function* readStretch(
  deps: ReadDeps,
  input: Reading,
  { to, lead, sides, ...begun }: OpenStretch & Pick<DraftInput, 'after'>,
): Parts {
  const { clock } = deps
  const { folds, rhythm, signal } = input
  let draft = new Draft(deps, { ...begun, folds })
  if (lead === undefined) return void (yield end(input, draft, to))
  let endedMs = clock()
  try {
    for await (const part of lead) {
      await draft.take(part, part.to)
      const max = input.isStoring() ? MAX_WHILE_STORING : MAX
      const isProvable = draft.answers < max.answers && draft.toldBlocks < TOLD_BLOCKS_MAX
      const isFull = draft.size >= max.facts || !isProvable
      const isLate = clock() - endedMs >= rhythm.everyMs
      if (part.to < to && !isFull && !isLate && !input.isWanted(part.to)) continue
      for (const side of sides)
        for await (const more of side.upTo(part.to)) await draft.take(more, part.to)
      signal.throwIfAborted()
      const ended = end(input, draft, part.to)
      draft = new Draft(deps, { ...begun, folds, from: part.to + 1, after: ended.last })
      endedMs = clock()
      yield ended
    }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
  }
}

/** Ends a segment; what cannot be drained counts only when the node is proven not to have made it up. */
function end(input: Pick<ReadInput, 'drain'>, draft: Draft, to: number): Part {
  const prove = (): Promise<Segment> => {
    try {
      return draft.prove(to, input.drain(to))
    } catch (error) {
      return draft.prove(to, undefined).then(() => {
        throw error
      })
    }
  }
  const proof = prove()
  const last = proof.then(({ end }) => end)
  last.catch(() => undefined)
  return { to, proof, last }
}
