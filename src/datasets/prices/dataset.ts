import { getSelector } from 'ox/AbiEvent'
import type { PricedToken } from '#ecosystem/priced-token.ts'
import type { PartEntry } from '#indexer/adopted-file/file-part.ts'
import type { Change, Dataset, Position } from '#indexer/dataset.ts'
import { allEnded } from '#lib/all-ended.ts'
import { groupBy } from '#lib/group-by.ts'
import { startOfDay } from '#lib/time.ts'
import type { BulkInsert } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { PRICES } from '../dataset-names.ts'
import { compilePriceReader, type PriceFact, type PriceSeries } from './decode.ts'
import { nextPoint } from './queries.ts'

export function priceSeries(tokens: readonly PricedToken[]): readonly PriceSeries[] {
  return tokens.flatMap((token) => {
    const source = token.price
    if (source === null || source.chain === null) return []
    const symbol = source.quote?.toUpperCase()
    const quote = tokens.find((each) => each.symbol.toUpperCase() === symbol) ?? null
    return [{ token, source, quote }]
  })
}

/** Every move of the configured pools and feeds. */
export function pricesDataset(series: readonly PriceSeries[]): Dataset<PriceFact> {
  const readers = series.map((each) => ({ ...each, read: compilePriceReader(each) }))
  const byAddress = groupBy(readers, ({ source }) => `${source.chain.id}|${source.address}`)
  return {
    name: PRICES,
    selectors: series.map(({ source }) => ({
      chainId: source.chain.id,
      address: source.address,
      topic0: getSelector(source.event),
    })),
    builtFrom: (chainId) => entriesOf(series, chainId),
    decode: (log) =>
      (byAddress.get(`${log.chainId}|${log.address}`) ?? []).flatMap(({ token, read }) => {
        const price = read(log)
        if (price === undefined) return []
        const { chainId, blockNumber, logIndex, txHash, timestamp } = log
        const place = { chainId, blockNumber, logIndex, txHash, timestamp }
        return [{ symbol: token.symbol, log: place, price }]
      }),
    apply: storePrices,
    revert: (change, ancestor) => removePrices(change, ancestor, series),
    forget: (change) => forgetPrices(change, series),
  }
}

function entriesOf(series: readonly PriceSeries[], chainId: number): readonly PartEntry[] {
  const own = series.filter(({ source }) => source.chain.id === chainId)
  return own.map(({ token, source, quote }) => {
    const { chain, kind, address } = source
    const facts = { symbol: token.symbol, kind, address, ...source.facts }
    const field = `price of ${token.symbol}`
    if (source.quote === null) return { field, facts }
    const pair = [token, quote].map((each) => [
      each?.addresses.get(chain.name) ?? null,
      each?.decimals ?? null,
    ])
    return { field, facts: { ...facts, pair } }
  })
}

async function storePrices(change: Change, facts: readonly PriceFact[]): Promise<void> {
  change.changes?.price(facts)
  // The last fact of a block or day wins.
  const points = new Map(facts.map((each) => [`${each.symbol}|${each.log.blockNumber}`, each]))
  const days = new Map(
    facts.map((each) => [`${each.symbol}|${startOfDay(each.log.timestamp)}`, each]),
  )
  const { connection } = change
  await allEnded([
    tellMoves(change, facts),
    connection.insert(
      POINTS,
      [...points.values()].map(({ symbol, log, price }) => [
        symbol,
        log.chainId,
        log.blockNumber,
        log.timestamp,
        price.toString(),
      ]),
    ),
    connection.insert(
      DAYS,
      [...days.values()].map(({ symbol, log, price }) => [
        symbol,
        startOfDay(log.timestamp),
        log.blockNumber,
        price.toString(),
      ]),
    ),
  ])
}

const POINTS: BulkInsert = {
  table: 'price_points',
  columns: {
    symbol: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    timestamp_unix: 'bigint',
    price: 'text',
  },
}

const DAYS: BulkInsert = {
  table: 'price_days',
  columns: { symbol: 'text', day_unix: 'bigint', block_number: 'bigint', price: 'text' },
  conflict: `on conflict (symbol, day_unix) do update set
    block_number = excluded.block_number, price = excluded.price
    where excluded.block_number >= price_days.block_number`,
}

/** A price holds until the next one. */
async function tellMoves(change: Change, facts: readonly PriceFact[]): Promise<void> {
  const groups = groupBy(facts, (fact) => fact.symbol)
  const told = [...groups].map(async ([symbol, group]) => {
    const [first, last] = [group[0]?.log.timestamp ?? 0, group.at(-1)?.log.timestamp ?? 0]
    const next = await nextPoint(change.connection, symbol, last + 1)
    change.priceMoved(symbol, { fromUnix: first, untilUnix: (next ?? FOREVER) - 1 })
  })
  await allEnded(told)
}

const FOREVER = Number.POSITIVE_INFINITY

async function removePrices(
  change: Change,
  ancestor: Position,
  series: readonly PriceSeries[],
): Promise<void> {
  // The chain no longer vouches for later moments, even if no price moved.
  for (const { token, source } of series)
    if (source.chain.id === change.chainId)
      change.priceMoved(token.symbol, { fromUnix: ancestor.timestamp + 1, untilUnix: FOREVER })
  const removed = await change.connection.run(sql`
    delete from price_points
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}
    returning symbol, timestamp_unix`)
  for (const [symbol, group] of groupBy(removed, (row) => column.text(row, 'symbol'))) {
    const fromUnix = group.reduce(
      (first, row) => Math.min(first, column.integer(row, 'timestamp_unix')),
      FOREVER,
    )
    change.priceMoved(symbol, { fromUnix, untilUnix: FOREVER })
    change.changes?.unprice(symbol)
    await closeDayAnew(change, symbol, startOfDay(fromUnix))
  }
}

/** By range, because a chain may have millions of points. */
async function forgetPrices(
  { connection, ...change }: Change,
  series: readonly PriceSeries[],
): Promise<void> {
  const { chainId } = change
  const found = await connection.run(sql`
    select symbol, min(timestamp_unix) as first_unix from price_points
    where chain_id = ${chainId} group by symbol`)
  await connection.run(sql`delete from price_points where chain_id = ${chainId}`)
  const own = series.filter(({ source }) => source.chain.id === chainId)
  const symbols = [...own.map(({ token }) => token.symbol), ...found.map((row) => `${row.symbol}`)]
  for (const symbol of new Set(symbols))
    change.priceMoved(symbol, { fromUnix: 0, untilUnix: FOREVER })
  for (const row of found) {
    const firstDay = startOfDay(column.integer(row, 'first_unix'))
    await closeDayAnew({ connection, ...change }, column.text(row, 'symbol'), firstDay)
  }
}

/** Only the first day touched can still have points. */
async function closeDayAnew(change: Change, symbol: string, dayUnix: number): Promise<void> {
  await change.connection.run(
    sql`delete from price_days where symbol = ${symbol} and day_unix >= ${dayUnix}`,
  )
  await change.connection.run(sql`
    insert into price_days (symbol, day_unix, block_number, price)
    select symbol, ${dayUnix}, block_number, price from price_points
    where symbol = ${symbol} and timestamp_unix >= ${dayUnix}
    order by timestamp_unix desc, block_number desc limit 1`)
}
