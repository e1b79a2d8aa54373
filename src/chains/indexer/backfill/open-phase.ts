import type { ChainSource, HistoryPart } from '#chains/chain/chain-source.ts'
import type { AnyDataset } from '../dataset.ts'
import { filtersOf, selectLogs, selectorsIn } from '../select-logs.ts'
import { SideHistory } from './side-history.ts'

export interface Phase {
  readonly to: number
  readonly datasets: readonly AnyDataset[]
}

export interface OpenPhase extends Phase {
  readonly from: number
  readonly lead: AsyncIterable<HistoryPart> | undefined
  readonly sides: readonly SideHistory[]
  next(): OpenPhase | undefined
}

export interface OpenInput {
  readonly source: ChainSource
  readonly from: number
  /** Returns them in ascending order, without those that end below `from`. */
  readonly phases: readonly Phase[]
  readonly folded: readonly AnyDataset[]
  readonly signal: AbortSignal
}

/** `next` opens as soon as this one is fully requested, to save a round trip. */
export function openPhase(input: OpenInput): OpenPhase | undefined {
  const { source, from, folded, signal } = input
  const [phase, ...phases] = input.phases.filter(({ to }) => to >= from)
  if (phase === undefined) return undefined
  const { to, datasets } = phase
  let following: { readonly phase: OpenPhase | undefined } | undefined
  const next = () => {
    following ??= { phase: openPhase({ ...input, from: to + 1, phases }) }
    return following.phase
  }
  const [filter, ...others] = filtersOf([...datasets, ...folded], source.chainId)
  const range = { from, to }
  const sides = others.map((each, index) => {
    const earlier = [filter, ...others.slice(0, index)].filter((one) => one !== undefined)
    const known = selectLogs(earlier.flatMap((one) => selectorsIn(one, source.chainId)))
    return new SideHistory(source, { ...range, filter: each }, known.isWanted)
  })
  signal.addEventListener('abort', () => sides.map((side) => side.stop()))
  const history = filter && source.history({ ...range, filter, signal, onAllAsked: next })
  return { ...phase, from, lead: history && readOn(history), sides, next }
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
