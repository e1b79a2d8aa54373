import type { ChainSource, HistoryPart } from '#chain/chain-source.ts'
import type { AnyDataset } from '../dataset.ts'
import { filtersOf } from '../select-logs.ts'
import { SideHistory } from './side-history.ts'

/** Blocks that are read for the same datasets. */
export interface Stretch {
  readonly to: number
  /** Facts of these are staged. */
  readonly datasets: readonly AnyDataset[]
}

/** A stretch whose history is being read. */
export interface OpenStretch extends Stretch {
  readonly from: number
  /** What one filter finds; undefined where nothing is to be found at all. */
  readonly lead: AsyncIterable<HistoryPart> | undefined
  /** What the other filters find. */
  readonly sides: readonly SideHistory[]
  /** The stretch after this one, from now on being read; undefined after the last. */
  next(): OpenStretch | undefined
}

export interface OpenInput {
  readonly source: ChainSource
  readonly from: number
  /** One after the other, each from where the one before ends; those that end below `from` are left out. */
  readonly stretches: readonly Stretch[]
  /** Read in all stretches. */
  readonly folded: readonly AnyDataset[]
  /** Ends the reading, also of a stretch that nobody came to. */
  readonly signal: AbortSignal
}

/**
 * Begins to read the first stretch; each other one as soon as nothing of the one before is left to be
 * asked for, so that no round trip lies between them.
 */
export function openStretch(input: OpenInput): OpenStretch | undefined {
  const { source, from, folded, signal } = input
  const [stretch, ...stretches] = input.stretches.filter(({ to }) => to >= from)
  if (stretch === undefined) return undefined
  const { to, datasets } = stretch
  let following: { readonly stretch: OpenStretch | undefined } | undefined
  const next = () => {
    following ??= { stretch: openStretch({ ...input, from: to + 1, stretches }) }
    return following.stretch
  }
  const [filter, ...others] = filtersOf([...datasets, ...folded], source.chainId)
  const range = { from, to }
  const sides = others.map((each) => new SideHistory(source, { ...range, filter: each }))
  signal.addEventListener('abort', () => sides.map((side) => side.stop()))
  const history = filter && source.history({ ...range, filter, signal, onAllAsked: next })
  return { ...stretch, from, lead: history && readOn(history), sides, next }
}

/** Begins to read now what is handed out later. */
function readOn<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]()
  let first: Promise<IteratorResult<T>> | undefined = iterator.next()
  // Thrown when its turn has come.
  first.catch(() => undefined)
  const next = () => {
    const taken = first ?? iterator.next()
    // What was handed out is not held any longer.
    first = undefined
    return taken
  }
  const end = async () => (await iterator.return?.()) ?? { done: true as const, value: undefined }
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) }
}
