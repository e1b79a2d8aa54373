import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import {
  type Chain,
  type ContractPrice,
  type PricedToken,
  pairOf,
} from '#chains/ecosystem/priced-token.ts'
import type { Problem } from '#chains/ecosystem/problem.ts'
import { priceFieldOf } from '#chains/ecosystem/resolve-price.ts'
import { askFilter, nameOfEvents } from '#chains/indexer/price-logs.ts'
import { showAddress } from '#domain/address.ts'
import { COIN_ADDRESS, TRANSFER_TOPIC } from '#domain/token.ts'
import { findFirstLog } from './first-log.ts'

type SourceOf = (chain: Chain) => ChainSource

/** Warns of days on which a token moved, but its oldest source had no event yet. */
export async function findPricelessDays(
  ecosystem: Ecosystem,
  sourceOf: SourceOf,
): Promise<readonly Problem[]> {
  const found = await Promise.all(
    ecosystem.tokens.map(async (token, index) => {
      const [price] = token.prices
      if (price === undefined || price.chain === null) return undefined
      const [moved, priced] = await Promise.all([
        firstMove(ecosystem, token, sourceOf),
        askFilter(sourceOf(price.chain), price, pairOf(ecosystem.tokens, token, price)).then(
          (filter) => findFirst(sourceOf, price.chain, filter),
        ),
      ])
      const field = priceFieldOf(token, index, price)
      return moved && priced && describeGap({ field, token, price }, moved, priced)
    }),
  )
  return found.filter((each) => each !== undefined)
}

interface First {
  readonly chain: Chain
  readonly block: number
  /** Seconds. */
  readonly time: number
  /** Whether it is an event, and not the end of the search. */
  readonly isEvent: boolean
}

async function firstMove(
  { chains }: Ecosystem,
  { addresses }: PricedToken,
  sourceOf: SourceOf,
): Promise<First | undefined> {
  const all = chains.map((chain) => {
    const address = addresses.get(chain.name)
    if (address === undefined || address === COIN_ADDRESS) return undefined
    return findFirst(sourceOf, chain, { addresses: [address], topics: [[TRANSFER_TOPIC]] })
  })
  const found = (await Promise.all(all)).filter((each) => each?.isEvent === true)
  return found.sort((a, b) => (a?.time ?? 0) - (b?.time ?? 0))[0]
}

/** Undefined if there is none. */
async function findFirst(
  sourceOf: SourceOf,
  chain: Chain,
  filter: LogFilter,
): Promise<First | undefined> {
  const source = sourceOf(chain)
  const head = await source.header('latest')
  if (head === undefined) return undefined
  const first = await findFirstLog(source, { filter, from: chain.startBlock, to: head.number })
  if (first.block === null && first.to >= head.number) return undefined
  const block = first.block ?? first.to
  const header = await source.header(block)
  return header && { chain, block, time: header.timestamp, isEvent: first.block !== null }
}

const DAY = 86_400

function describeGap(
  place: { readonly field: string; readonly token: PricedToken; readonly price: ContractPrice },
  moved: First,
  priced: First,
): Problem | undefined {
  const { field, token, price } = place
  const last = Math.floor(priced.time / DAY) - 1
  if (Math.floor(moved.time / DAY) > last) return undefined
  const event = `${nameOfEvents(price)} of ${showAddress(price.address)}`
  const found = priced.isEvent
    ? `the first ${event} is in block ${priced.block} of ${priced.chain.name}`
    : `no ${event} was found up to block ${priced.block} of ${priced.chain.name}, the end of the search`
  return {
    field,
    message: `${token.symbol} has no price from ${toDay(moved.time)} to ${toDay(last * DAY)}: it moved from block ${moved.block} of ${moved.chain.name} on, and ${found}; write a list that begins with the source of those days (an older pool, or an older aggregator of the feed)${priced.isEvent ? `, and since: ${priced.block} here` : ''}`,
  }
}

function toDay(time: number): string {
  return new Date(time * 1_000).toISOString().slice(0, 10)
}
