import { ZERO_ADDRESS } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { BurnSource } from '#ecosystem/ecosystem.ts'
import { argument, DecodeError, type EventArguments } from '#indexer/decode-event.ts'
import type { EventFact } from '#indexer/events/event.ts'
import { makeEventDataset } from '#indexer/events/event-dataset.ts'

export const BURNS = 'burns'

/** `kind`: `burn` to the zero address, `transfer` to a burn address. */
export function burnsDataset(sources: readonly BurnSource[]) {
  return makeEventDataset({
    name: BURNS,
    field: 'burns',
    byAccount: false,
    sources,
    factsOf: ({ from, amount, to }) => ({ from, amount, to }),
    read: readBurn,
  })
}

function readBurn(log: Log, source: BurnSource, args: EventArguments): EventFact {
  if (source.token === null) throw new DecodeError('the burn mapping names no token')
  const to = source.to === null ? ZERO_ADDRESS : argument.address(args, source.to)
  return {
    log,
    kind: to === ZERO_ADDRESS ? 'burn' : 'transfer',
    token: source.token.symbol,
    account: argument.address(args, source.from),
    amount: argument.amount(args, source.amount),
    detail: null,
    counted: true,
  }
}
