import type { Log } from '#domain/chain.ts'
import type { Price } from '#domain/money.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import type { ContractPrice, PricePair } from '#ecosystem/priced-token.ts'
import { compileWordDecoder } from '#indexer/word-decoder.ts'

/** The prices of a token from its pool or feed. */
export interface PriceSeries extends PricePair {
  readonly source: ContractPrice
}

export interface PriceFact {
  readonly symbol: string
  readonly log: Pick<Log, 'chainId' | 'blockNumber' | 'logIndex' | 'txHash' | 'timestamp'>
  /** Quote units or dollars per whole token. */
  readonly price: Price
}

/** Undefined if the event has no price; throws DecodeError if the log is unreadable. */
export function compilePriceReader(series: PriceSeries): (log: Log) => Price | undefined {
  const readArguments = compileWordDecoder(series.source.event)
  return (log) => {
    const args = readArguments?.(log)
    if (args === undefined)
      throw new DecodeError('the log does not match the ABI of the price event')
    return series.source.read(args, series)
  }
}
