import type { Log } from '#domain/chain.ts'
import type { DividendSource, PricedToken } from '#ecosystem/ecosystem.ts'
import { argument, type EventArguments } from '#indexer/decode-event.ts'
import type { EventFact } from '#indexer/events/event.ts'
import { makeEventDataset } from '#indexer/events/event-dataset.ts'
import { type TokenAt, tokenFacts, tokenOf } from '../token-of.ts'

export const DIVIDENDS = 'dividends'

/**
 * `claim`: paid to a wallet, counted. `distribution`: put into the pot, not counted, because it is
 * claimed later.
 */
export function dividendsDataset(
  sources: readonly DividendSource[],
  tokens: readonly PricedToken[],
) {
  const tokenAt = (log: Log, source: DividendSource, args: EventArguments) =>
    tokenOf(tokens, { log, source, args, argumentName: source.tokenArgument })
  return makeEventDataset({
    name: DIVIDENDS,
    field: 'dividends',
    byAccount: true,
    sources,
    factsOf: (source) => {
      const { kind, amount, recipient } = source
      return { kind, amount, recipient, ...tokenFacts(tokens, source) }
    },
    read: (log, source, args) => readDividend(log, source, args, tokenAt),
  })
}

function readDividend(
  log: Log,
  source: DividendSource,
  args: EventArguments,
  tokenAt: TokenAt<DividendSource>,
): EventFact {
  return {
    log,
    kind: source.kind,
    token: tokenAt(log, source, args),
    account: source.recipient === null ? null : argument.address(args, source.recipient),
    amount: argument.amount(args, source.amount),
    detail: null,
    counted: source.kind === 'claim',
  }
}
