import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import type { Price } from '#base/money.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { EventReading } from '#ecosystem/event-source.ts'

export interface EventPlace {
  readonly chainId: number
  readonly blockNumber: number
  /** The order within the block (`placeOf`). */
  readonly place: number
  readonly txHash: Hash
  readonly timestamp: number
}

export interface ListedEvent extends EventPlace {
  readonly kind: string
  readonly token: string
  readonly account: Address | null
  readonly amount: bigint
  readonly detail: string | null
  /** The value at the event; null without a price. */
  readonly usd: bigint | null
}

export const LIST_COLUMNS = sql`
  chain_id, block_number, place, tx_hash, timestamp_unix, kind, token, account, amount, detail, usd`

export function toListed(row: Row): ListedEvent {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    place: column.integer(row, 'place'),
    txHash: column.hex(row, 'tx_hash'),
    timestamp: column.integer(row, 'timestamp_unix'),
    kind: column.text(row, 'kind'),
    token: column.text(row, 'token'),
    account: row.account === null ? null : column.hex(row, 'account'),
    amount: column.bigint(row, 'amount'),
    detail: column.textOrNull(row, 'detail'),
    usd: column.bigintOrNull(row, 'usd'),
  }
}

/** What a mapping reads from a log. */
export interface EventFact extends EventReading {
  readonly log: Pick<
    Log,
    'chainId' | 'blockNumber' | 'blockHash' | 'txHash' | 'txIndex' | 'logIndex' | 'timestamp'
  > & {
    /** Among the rows that the code of a mapping makes of the log. */
    readonly row?: number
  }
}

export interface PriceBook {
  readonly symbols: readonly string[]
  dependents(symbol: string): readonly string[]
  decimals(symbol: string): number
  /** The chains whose events move the token's price in dollars. */
  chainIds(symbol: string): ReadonlySet<number>
  /**
   * Returns prices at the close of the block before each moment's (of another chain than the price's, before that second); null where unknown.
   */
  pricesAt(
    connection: Connection,
    symbol: string,
    moments: readonly EventMoment[],
  ): Promise<readonly (Price | null)[]>
}

export interface EventMoment {
  readonly unix: number
  /** Null for the end of that second, after the blocks of all chains. */
  readonly chainId: number | null
  readonly blockNumber: number
}
