import type {
  ContractPrice,
  PricePair,
  PriceReading,
  Since,
} from '#chains/ecosystem/priced-token.ts'
import { compilePriceDecoder } from '#chains/indexer/price-logs.ts'
import type { Address } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'

/** The prices of a token from one of its pools or feeds. */
export interface PriceSeries extends PricePair {
  readonly source: ContractPrice
  /** Starts of the token's later sources; a block and a day may not be in their order. */
  readonly until: readonly Since[]
}

/** A price in quote units or dollars per whole token. */
export interface PriceFact extends PriceReading {
  readonly symbol: string
  /** The aggregator of a feed; null for pools and vaults. */
  readonly emitter: Address | null
  readonly log: Pick<
    Log,
    'chainId' | 'blockNumber' | 'txIndex' | 'logIndex' | 'txHash' | 'timestamp'
  >
}

/** Undefined if the log has no price or does not count; throws DecodeError if it is unreadable. */
export function compilePriceReader(series: PriceSeries): (log: Log) => PriceReading | undefined {
  const { source, until } = series
  const readArguments = compilePriceDecoder(source)
  return (log) => {
    if (source.since !== null && !hasBegun(source.since, log)) return undefined
    if (until.some((each) => hasBegun(each, log))) return undefined
    const args = readArguments(log)
    return args && source.read(args, series)
  }
}

export function hasBegun(
  since: Since,
  at: { readonly blockNumber: number; readonly timestamp: number },
): boolean {
  return 'block' in since ? at.blockNumber >= since.block : at.timestamp >= since.unix
}
