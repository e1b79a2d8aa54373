import type { ChainSource, HistoryPart } from '#chain/chain-source.ts'
import type { AnyDataset } from '../dataset.ts'
import { filtersOf } from '../select-logs.ts'
import { SideHistory } from './side-history.ts'

export interface Stretch {
  readonly to: number
  readonly datasets: readonly AnyDataset[]
}

export interface OpenStretch extends Stretch {
  readonly from: number
  readonly lead: AsyncIterable<HistoryPart> | undefined
  readonly sides: readonly SideHistory[]
  next(): OpenStretch | undefined
}

export interface OpenInput {
  readonly source: ChainSource
  readonly from: number
  /** Ascending; skips those that end below `from`. */
  readonly stretches: readonly Stretch[]
  readonly folded: readonly AnyDataset[]
  /** Also cancels ranges requested ahead. */
  readonly signal: AbortSignal
}

/** As soon as this one is fully requested, to save a round trip. */
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

function readOn<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]()
  let first: Promise<IteratorResult<T>> | undefined = iterator.next()
  // Rethrown when consumed.
  first.catch(() => undefined)
  const next = () => {
    const taken = first ?? iterator.next()
    first = undefined
    return taken
  }
  const end = async () => (await iterator.return?.()) ?? { done: true as const, value: undefined }
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) }
}
