import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import {
  type Chain,
  type ContractPrice,
  type PricedToken,
  pairOf,
} from '#chains/ecosystem/priced-token.ts'
import type { Problem } from '#chains/ecosystem/problem.ts'
import { priceFieldOf } from '#chains/ecosystem/resolve-price.ts'
import { showAddress } from '#domain/address.ts'
import { type FoundReading, findReading } from './find-reading.ts'
import { askOf, nameOfEvents } from './price-logs.ts'
import { ProofError } from './proof-error.ts'

type SourceOf = (chain: Chain) => ChainSource

/**
 * Compares each pool and feed with the file, all at once. A source is accepted if one of its events
 * was read; a promise gives a warning where not all blocks could be searched for an event.
 */
export function provePrices(
  { tokens }: Ecosystem,
  sourceOf: SourceOf,
): readonly Promise<Problem | undefined>[] {
  return tokens.flatMap((token, index) =>
    token.prices.flatMap((price) => {
      if (price.chain === null) return []
      const field = priceFieldOf(token, index, price)
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
  const ask = askOf(source, address, field)
  const head = (await source.header('latest'))?.number ?? price.chain.startBlock
  const pair = pairOf(tokens, token, price)
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
  return `${placeOf(price)} emits no ${nameOfEvents(price)}, which prices of kind "${price.kind}" are read from, but the event of another kind; write "${otherKind}"`
}

function placeOf({ address, chain }: ContractPrice): string {
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
  const place = placeOf(price)
  if (found.kind === 'unreadable')
    return `${place} emits ${nameOfEvents(price)}, but its newest log, in block ${found.block}, cannot be read: ${found.reason}; name another source`
  return `${place} has not emitted ${nameOfEvents(price)}, which prices of kind "${price.kind}" are read from, since block ${price.chain.startBlock}; correct the kind or the address`
}
