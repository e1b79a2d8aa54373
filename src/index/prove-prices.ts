import { type Hash, showAddress } from '#base/address.ts'
import type { ChainSource, LogFilter, SourceLog } from '#chain/chain-source.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import { priceKinds } from '#ecosystem/price-kinds.ts'
import {
  type Chain,
  type ContractPrice,
  findPair,
  type PricedToken,
  type PricePair,
  type PriceReading,
} from '#ecosystem/priced-token.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { ProofError } from './call-view.ts'
import { askFilter, askView, compilePriceDecoder, listTopics, nameOfEvents } from './price-logs.ts'

type SourceOf = (chain: Chain) => ChainSource

/**
 * Compares each pool and feed with the file, all at once. A source is accepted if one of its events
 * was read; a promise gives a warning where not all blocks could be searched for an event.
 */
export function provePrices(
  { tokens }: Ecosystem,
  sourceOf: SourceOf,
): readonly Promise<Problem | undefined>[] {
  return tokens.flatMap((token) =>
    token.prices.flatMap((price) => {
      if (price.chain === null) return []
      const { field } = price
      return [provePrice(sourceOf(price.chain), { tokens, token, price, field })]
    }),
  )
}

interface Proven {
  readonly tokens: readonly PricedToken[]
  readonly token: PricedToken
  readonly price: ContractPrice
  readonly field: string
}

async function provePrice(
  source: ChainSource,
  { tokens, token, price, field }: Proven,
): Promise<Problem | undefined> {
  const { address } = price
  const ask = askView(source, address, field)
  const head = (await source.header('latest'))?.number ?? price.chain.startBlock
  const pair = findPair(tokens, token, price)
  const replaced = blockOfNext(token, price)
  const before = replaced !== undefined && replaced < head ? replaced : head
  const first = await findReading(source, { price, pair, head: before })
  const isDone = first.kind === 'read' || before === head
  const found = isDone ? first : await findReading(source, { price, pair, head })
  if ('otherKind' in found && found.otherKind !== undefined)
    throw new ProofError(`${field}.kind`, describeKind(price, found.otherKind))
  const problem = await price.prove(ask, { ...pair, tokens })
  if (problem !== undefined) throw new ProofError(`${field}.${problem.field}`, problem.message)
  if (found.kind === 'read') return undefined
  if (found.kind === 'unknown') return { field, message: describeSearch(price, { ...found, head }) }
  throw new ProofError(`${field}.address`, describeMisfit(price, found))
}

/** The block where the next source begins; events of a replaced source end near it. */
function blockOfNext({ prices }: PricedToken, price: ContractPrice): number | undefined {
  const next = prices[prices.indexOf(price) + 1]
  const isBlock = next?.chain?.id === price.chain.id && next.since !== null && 'block' in next.since
  return isBlock ? next.since.block : undefined
}

function describeKind(price: ContractPrice, otherKind: string): string {
  return `${nameContract(price)} emits no ${nameOfEvents(price)}, which prices of kind "${price.kind}" are read from, but the event of another kind; write "${otherKind}"`
}

function nameContract({ address, chain }: ContractPrice): string {
  return `the contract at ${showAddress(address)} on ${chain.name}`
}

function describeSearch(
  price: ContractPrice,
  { from, head, reason }: Extract<FoundReading, { kind: 'unknown' }> & { readonly head: number },
): string {
  const searched = from > head ? 'no block' : `blocks ${from} to ${head}`
  return `${nameOfEvents(price)} was not found at ${showAddress(price.address)} on ${price.chain.name}: only ${searched} could be searched (${reason}); check that the contract emits it, for without events there is no price`
}

function describeMisfit(price: ContractPrice, found: FoundReading): string {
  const place = nameContract(price)
  if (found.kind === 'unreadable')
    return `${place} emits ${nameOfEvents(price)}, but its newest log, in block ${found.block}, cannot be read: ${found.reason}; name another source`
  return `${place} has not emitted ${nameOfEvents(price)}, which prices of kind "${price.kind}" are read from, since block ${price.chain.startBlock}; correct the kind or the address`
}

export type FoundReading =
  | {
      readonly kind: 'read'
      readonly block: number
      readonly topic0: Hash
      readonly reading: PriceReading
    }
  /** Each log found is of the event, but does not fit it. */
  | { readonly kind: 'unreadable'; readonly block: number; readonly reason: string }
  /** None back to the chain's startBlock. */
  | { readonly kind: 'none'; readonly otherKind: string | undefined }
  /** None in the blocks searched, `from` to the head. */
  | {
      readonly kind: 'unknown'
      readonly from: number
      readonly reason: string
      readonly otherKind: string | undefined
    }

/**
 * A dozen requests reach the first block of any chain on a node without a limit. The others are for
 * nodes that read 10,000 blocks at once, where all cover two weeks of Ethereum.
 */
const REQUESTS_MAX = 24

/** Keeps the answer small for the busiest pool. */
const FIRST_BLOCKS = 100

/** The newest event of a price source that states something, as the index would read it. */
export async function findReading(
  chain: Pick<ChainSource, 'logsInRange' | 'call'>,
  { price, pair, head }: { readonly price: ContractPrice; readonly pair: PricePair; head: number },
): Promise<FoundReading> {
  const { addresses, topics } = await askFilter(chain, price, pair)
  if (addresses?.length === 0) return { kind: 'none', otherKind: undefined }
  const anyKind = [...new Set([...listTopics(price), ...kindByTopic.keys()])]
  const filter = { addresses, topics: topics.with(0, anyKind) }
  const whole = { from: price.chain.startBlock, to: head }
  let from = head + 1
  let requests = 0
  let otherKind: string | undefined
  try {
    for await (const { logs, left } of walkLogs(chain, {
      ...whole,
      filter,
      blocks: FIRST_BLOCKS,
    })) {
      from = left.to + 1
      requests += 1
      const found = readNewest(logs, price, pair)
      otherKind ??= findOtherKind(logs, price)
      if (found !== undefined) return found
      if (requests === REQUESTS_MAX && left.from <= left.to)
        return {
          kind: 'unknown',
          from,
          otherKind,
          reason: `${requests} requests reached no further`,
        }
    }
    return { kind: 'none', otherKind }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return { kind: 'unknown', from, otherKind, reason: error.message }
  }
}

const kindByTopic: ReadonlyMap<Hash, string> = new Map(
  priceKinds.flatMap((each) => listTopics(each).map((topic0) => [topic0, each.kind] as const)),
)

/** The kind whose newest event these are, if it is not that of the source. */
function findOtherKind(logs: readonly SourceLog[], price: ContractPrice): string | undefined {
  const topic0 = logs.at(-1)?.topics[0] ?? '0x'
  return listTopics(price).includes(topic0) ? undefined : kindByTopic.get(topic0)
}

function readNewest(
  logs: readonly SourceLog[],
  price: ContractPrice,
  pair: PricePair,
): FoundReading | undefined {
  const decode = compilePriceDecoder(price)
  let unreadable: FoundReading | undefined
  for (const log of logs.toReversed()) {
    const { blockNumber: block } = log
    try {
      const args = decode(log)
      const reading = args && price.read(args, pair)
      const [topic0 = '0x'] = log.topics
      if (reading !== undefined) return { kind: 'read', block, topic0, reading }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      unreadable ??= { kind: 'unreadable', block, reason: error.message }
    }
  }
  return unreadable
}

interface Walk {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  /** The size of the first request. */
  readonly blocks: number
}

/** The result of one request. */
interface WalkStep {
  /** Ascending; empty if the node refused the range. */
  readonly logs: readonly SourceLog[]
  /** The blocks not read yet, both ends included. */
  readonly left: { readonly from: number; readonly to: number }
}

/** Reads the newest blocks first. Ranges grow, and shrink to what the node accepts. */
export async function* walkLogs(
  source: Pick<ChainSource, 'logsInRange'>,
  { filter, blocks, ...whole }: Walk,
): AsyncGenerator<WalkStep> {
  let left = { from: whole.from, to: whole.to }
  let size = blocks
  let sizeMax = Number.POSITIVE_INFINITY
  while (left.from <= left.to) {
    const { to } = left
    const from = Math.max(left.from, to - size + 1)
    const logs = await source.logsInRange(filter, from, to).catch((error: unknown) => {
      if (!(error instanceof EndpointError) || from === to) throw error
      if (!REFUSALS.has(error.kind)) throw error
      sizeMax = Math.max(1, Math.min(error.blocksMax ?? size, Math.floor((to - from + 1) / 4)))
      return undefined
    })
    if (logs !== undefined) left = { ...left, to: from - 1 }
    size = logs === undefined ? sizeMax : Math.min(sizeMax, size * 4)
    yield { logs: logs ?? [], left }
  }
}

/** A range may be refused in words that no rule knows. */
const REFUSALS = new Set<string>(['too-large', 'refused', 'timeout'])
