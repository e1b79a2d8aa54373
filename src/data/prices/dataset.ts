import type { Address } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { valueLate } from '#data/events/event-dataset.ts'
import type { BulkInsert, Tables } from '#db/engine.ts'
import { CLUSTERED } from '#db/migrate.ts'
import { column, sql, toStored } from '#db/sql.ts'
import {
  type ContractPrice,
  findPair,
  hasBegun,
  type PricedToken,
  type PricePair,
  type PriceReading,
  type Since,
} from '#ecosystem/priced-token.ts'
import type { Change, Dataset, Position } from '#index/dataset.ts'
import { compilePriceDecoder, listTopics } from '#index/price-logs.ts'
import { foldHours } from './hours.ts'

/**
 * `price_points`: in the quote (or dollars) at the end of a block, with 54 decimals, null where
 * nothing can be traded; `liquidity` is what the pool holds, in base units of the quote; `emitter` the aggregator of a feed.
 * `price_hours`: the highest and lowest price of each hour, a space and the liquidity there, for 91 days.
 */
export const pricesTables: Tables = `
    create table price_points (
      symbol text not null,
      chain_id bigint not null,
      block_number bigint not null,
      timestamp_unix bigint not null,
      price text,
      liquidity text,
      emitter text,
      primary key (symbol, chain_id, block_number)
    ) ${CLUSTERED};
    create index price_points_by_time on price_points (symbol, timestamp_unix, block_number);
    create index price_points_of_chain on price_points (chain_id, block_number);
    create table price_hours (
      symbol text not null,
      hour_unix bigint not null,
      high text,
      low text,
      primary key (symbol, hour_unix)
    ) ${CLUSTERED}`

export function priceSeries(tokens: readonly PricedToken[]): readonly PriceSeries[] {
  return tokens.flatMap((token) =>
    token.prices.flatMap((source, index): readonly PriceSeries[] => {
      if (source.chain === null) return []
      const until = token.prices.slice(index + 1).flatMap(({ chain, since }) => {
        const isComparable = since !== null && ('unix' in since || chain?.id === source.chain.id)
        return isComparable ? [since] : []
      })
      return [{ ...findPair(tokens, token, source), source, until }]
    }),
  )
}

export function pricesDataset(series: readonly PriceSeries[]): Dataset<PriceFact> {
  const readers = series.map((each) => ({ ...each, read: compilePriceReader(each) }))
  const byAddress = Map.groupBy(readers, ({ source: { chain, address, emitters } }) =>
    emitters === undefined ? `${chain.id}|${address}` : chain.id,
  )
  const readersOf = ({ chainId, address, blockNumber }: Log) => [
    ...(byAddress.get(`${chainId}|${address}`) ?? []),
    ...(byAddress.get(chainId) ?? []).filter(({ source }) =>
      source.emitters?.found.counts(address, blockNumber),
    ),
  ]
  return {
    name: 'prices',
    selectors: series.flatMap(({ source, ...pair }) =>
      listTopics(source).map((topic0) => ({
        chainId: source.chain.id,
        address: source.address,
        found: source.emitters?.found,
        topic0,
        ...(source.topics && { arguments: source.topics(pair) }),
      })),
    ),
    decode: (log) =>
      readersOf(log).flatMap(({ token, source, read }) => {
        const reading = read(log)
        if (reading === undefined) return []
        const { chainId, blockNumber, txIndex, logIndex, txHash, timestamp } = log
        const at = { chainId, blockNumber, txIndex, logIndex, txHash, timestamp }
        const emitter = source.emitters === undefined ? null : log.address
        return [{ symbol: token.symbol, emitter, log: at, ...reading }]
      }),
    apply: storePrices,
    revert: removePrices,
    finalize: valueLate,
  }
}

async function storePrices(change: Change, read: readonly PriceFact[]): Promise<void> {
  const facts = await ofNewestPhases(change, read)
  change.changes?.price(facts)
  // The last fact of a block wins.
  const byBlock = new Map(facts.map((each) => [`${each.symbol}|${each.log.blockNumber}`, each]))
  const ends = [...byBlock.values()]
  const rows = ends.map(({ symbol, price, liquidity, emitter, log }) => {
    const texts = [price, liquidity].map((value) => (value === null ? null : toStored(value)))
    return [symbol, log.chainId, log.blockNumber, log.timestamp, ...texts, emitter]
  })
  await change.connection.insert(POINTS, rows)
  for (const [symbol, own] of Map.groupBy(ends, (each) => each.symbol))
    await foldHours(change, symbol, spanOf(own.map(({ log }) => log.timestamp)))
}

const POINTS: BulkInsert = {
  table: 'price_points',
  columns: {
    symbol: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    timestamp_unix: 'bigint',
    price: 'text',
    liquidity: 'text',
    emitter: 'text',
  },
}

/** Only the aggregator of a feed that began to report last counts: an older one may report once more. */
async function ofNewestPhases(
  { connection, chainId }: Change,
  facts: readonly PriceFact[],
): Promise<readonly PriceFact[]> {
  const current = new Map<string, string | undefined>()
  const begun = new Set<string>()
  const kept: PriceFact[] = []
  for (const fact of facts) {
    const { symbol, emitter } = fact
    if (emitter !== null && !current.has(symbol)) {
      const [newest] = await connection.run(sql`
        select emitter from price_points
        where symbol = ${symbol} and chain_id = ${chainId} and emitter is not null
        order by block_number desc limit 1`)
      current.set(symbol, newest && column.text(newest, 'emitter'))
    }
    if (emitter !== null && current.get(symbol) !== emitter) {
      const reported = await connection.run(sql`
        select 1 as one from price_points
        where symbol = ${symbol} and chain_id = ${chainId} and emitter = ${emitter} limit 1`)
      if (reported.length > 0 || begun.has(`${symbol}|${emitter}`)) continue
      begun.add(`${symbol}|${emitter}`)
      current.set(symbol, emitter)
    }
    kept.push(fact)
  }
  return kept
}

async function removePrices(change: Change, ancestor: Position): Promise<void> {
  const removed = await change.connection.run(sql`
    delete from price_points
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}
    returning symbol, timestamp_unix`)
  for (const [symbol, group] of Map.groupBy(removed, (row) => column.text(row, 'symbol'))) {
    change.changes?.unpriced.add(symbol)
    await foldHours(
      change,
      symbol,
      spanOf(group.map((row) => column.integer(row, 'timestamp_unix'))),
    )
  }
}

function spanOf(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b)
  return { fromUnix: sorted[0] ?? 0, untilUnix: sorted.at(-1) ?? 0 }
}

interface PriceSeries extends PricePair {
  readonly source: ContractPrice
  /** Starts of the token's later sources; a block and a day may not be in their order. */
  readonly until: readonly Since[]
}

/** A price in quote units or dollars per whole token. */
interface PriceFact extends PriceReading {
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
