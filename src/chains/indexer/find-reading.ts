import type { ChainSource, SourceLog } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { DecodeError } from '#chains/ecosystem/event-arguments.ts'
import { priceKinds } from '#chains/ecosystem/price-kinds.ts'
import type { ContractPrice, PricePair, PriceReading } from '#chains/ecosystem/priced-token.ts'
import type { Hash } from '#domain/address.ts'
import { askFilter, compilePriceDecoder, topicsOf } from './price-logs.ts'
import { walkLogs } from './walk-logs.ts'

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
  const anyKind = [...new Set([...topicsOf(price), ...kindByTopic.keys()])]
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
      otherKind ??= otherKindOf(logs, price)
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
  priceKinds.flatMap((each) => topicsOf(each).map((topic0) => [topic0, each.kind] as const)),
)

/** The kind whose newest event these are, if it is not that of the source. */
function otherKindOf(logs: readonly SourceLog[], price: ContractPrice): string | undefined {
  const topic0 = logs.at(-1)?.topics[0] ?? '0x'
  return topicsOf(price).includes(topic0) ? undefined : kindByTopic.get(topic0)
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
