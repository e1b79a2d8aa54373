import { type EventKind, eventKinds, topicStart } from './event-kinds.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

type OneOrMore = string | readonly string[]

/** The filter of `eth_getLogs` (ethereum/execution-apis) without its blocks. */
export interface LogQuery {
  readonly address?: OneOrMore | null
  readonly topics?: readonly (OneOrMore | null)[]
}

/** Neighbouring logs, both ends included. */
export interface LogRun {
  readonly first: number
  readonly last: number
}

/** The logs of some blocks that a filter accepts, as runs of neighbours, and how many they are. */
export function selectLogs(
  chain: SyntheticChain,
  query: LogQuery,
  blocks: { readonly from: number; readonly to: number },
): { readonly runs: readonly LogRun[]; readonly count: number } {
  const verdicts = eventKinds.map((kind) => judge(query, kind))
  const end = chain.blocks.firstLog(blocks.to + 1)
  const runs: LogRun[] = []
  let first = -1
  let count = 0
  for (let log = chain.blocks.firstLog(blocks.from); log <= end; log += 1) {
    const verdict = log < end ? verdicts[chain.logs.kindNumber(log)] : undefined
    const accepted = verdict?.accepts(chain, log) === true
    if (accepted && first < 0) first = log
    if (!accepted && first >= 0) {
      runs.push({ first, last: log - 1 })
      count += log - first
      first = -1
    }
  }
  return { runs, count }
}

interface Verdict {
  accepts(chain: SyntheticChain, log: number): boolean
}

const NONE: Verdict = { accepts: () => false }
const ALL: Verdict = { accepts: () => true }

/** What a filter says of a kind, as far as address and first topic decide it for all its logs. */
function judge({ address, topics = [] }: LogQuery, kind: EventKind): Verdict {
  const addresses = toSet(address)
  const [first, ...others] = topics
  if (addresses !== undefined && !addresses.has(kind.address)) return NONE
  if (toSet(first)?.has(kind.topic0) === false) return NONE
  // A filter of more topics than a log has does not match it, wildcards or not.
  if (topics.length > kind.topics) return NONE
  const wanted = others.flatMap((values, index) => {
    const set = toSet(values)
    return set === undefined ? [] : [{ start: topicStart(index + 1), set }]
  })
  if (wanted.length === 0) return ALL
  return {
    accepts: (chain, log) =>
      wanted.every(({ start, set }) => set.has(`0x${chain.logs.text(log, start, 64)}`)),
  }
}

/** Accepted values in lower case; undefined accepts all. */
function toSet(values: OneOrMore | null | undefined): ReadonlySet<string> | undefined {
  if (values === null || values === undefined) return undefined
  const list = [values].flat()
  return list.length === 0 ? undefined : new Set(list.map((each) => each.toLowerCase()))
}
