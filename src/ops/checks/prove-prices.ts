import { showAddress } from '#base/address.ts'
import type { ChainSource, LogFilter, SourceLog } from '#chain/chain-source.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import {
  type Chain,
  type ContractPrice,
  findPair,
  type PricePair,
  type PriceReading,
} from '#ecosystem/priced-token.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { ProofError } from '#index/call-view.ts'
import { askFilter, askView, compilePriceDecoder, nameOfEvents } from '#index/price-logs.ts'

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
    token.prices.flatMap((price, index) => {
      if (price.chain === null) return []
      const pair = { ...findPair(tokens, token, price), tokens }
      const next = token.prices[index + 1]
      // A source emits nothing any more long after another one replaced it.
      const isBlock = next?.chain === price.chain && next.since !== null && 'block' in next.since
      const until = isBlock ? next.since.block : Number.POSITIVE_INFINITY
      return [provePrice(sourceOf(price.chain), price, { ...pair, until })]
    }),
  )
}

async function provePrice(
  source: ChainSource,
  price: ContractPrice,
  { until, ...pair }: PricePair & Pick<Ecosystem, 'tokens'> & { readonly until: number },
): Promise<Problem | undefined> {
  const { field } = price
  const ask = askView(source, price.address, field)
  const newest = (await source.header('latest'))?.number ?? price.chain.startBlock
  const head = Math.min(newest, until)
  const found = await findReading(source, { price, pair, head })
  const problem = await price.prove(ask, pair)
  if (problem !== undefined) throw new ProofError(`${field}.${problem.field}`, problem.message)
  if (found.kind === 'read') return undefined
  const events = nameOfEvents(price)
  const place = `the contract at ${showAddress(price.address)} on ${price.chain.name}`
  if (found.kind === 'unreadable')
    throw new ProofError(
      `${field}.address`,
      `${place} emits ${events}, but its newest log, in block ${found.block}, cannot be read: ${found.reason}; name another source`,
    )
  if (found.reason === undefined)
    throw new ProofError(
      `${field}.address`,
      `${place} has not emitted ${events}, which prices of kind "${price.kind}" are read from, since block ${price.chain.startBlock}; correct the kind or the address`,
    )
  const searched = found.from > head ? 'no block' : `blocks ${found.from} to ${head}`
  const message = `${events} was not found at ${place}: only ${searched} could be searched (${found.reason}); check that the contract emits it, for without events there is no price`
  return { field, message }
}

export type FoundReading =
  | { readonly kind: 'read'; readonly block: number; readonly reading: PriceReading }
  /** Each log found is of the event, but does not fit it. */
  | { readonly kind: 'unreadable'; readonly block: number; readonly reason: string }
  /** None in the blocks searched, `from` to the head; `reason`: why not all from the chain's startBlock on. */
  | { readonly kind: 'none'; readonly from: number; readonly reason: string | undefined }

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
  const filter = await askFilter(chain, price, pair)
  const first = price.chain.startBlock
  let from = head + 1
  let requests = 0
  try {
    const walk = { filter, from: first, to: head, blocks: FIRST_BLOCKS }
    for await (const { logs, left } of filter.addresses?.length === 0
      ? []
      : walkLogs(chain, walk)) {
      const found = readNewest(logs, price, pair)
      if (found !== undefined) return found
      from = left.to + 1
      requests += 1
      if (requests === REQUESTS_MAX && from > first)
        return { kind: 'none', from, reason: `${requests} requests reached no further` }
    }
    return { kind: 'none', from, reason: undefined }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return { kind: 'none', from, reason: error.message }
  }
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
      if (reading !== undefined) return { kind: 'read', block, reading }
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
