import type { Log } from '#domain/chain.ts'
import type { GraveDigSource, PricedToken } from '#ecosystem/ecosystem.ts'
import { argument, type EventArguments } from '#indexer/decode-event.ts'
import type { EventFact } from '#indexer/events/event.ts'
import { makeEventDataset } from '#indexer/events/event-dataset.ts'
import { toStoredText } from '#lib/stored-text.ts'
import { type TokenAt, tokenFacts, tokenOf } from '../token-of.ts'

export const GRAVE_DIGS = 'grave-digs'

/** `account` is the digger, `detail` the grave's id if the event has one. */
export function graveDigsDataset(
  sources: readonly GraveDigSource[],
  tokens: readonly PricedToken[],
) {
  const tokenAt = (log: Log, source: GraveDigSource, args: EventArguments) =>
    tokenOf(tokens, { log, source, args, argumentName: source.tokenArgument })
  return makeEventDataset({
    name: GRAVE_DIGS,
    field: 'graveDigs',
    byAccount: true,
    sources,
    factsOf: (source) => {
      const { digger, amount, graveId } = source
      return { digger, amount, graveId, ...tokenFacts(tokens, source) }
    },
    read: (log, source, args) => readGraveDig(log, source, args, tokenAt),
  })
}

function readGraveDig(
  log: Log,
  source: GraveDigSource,
  args: EventArguments,
  tokenAt: TokenAt<GraveDigSource>,
): EventFact {
  return {
    log,
    kind: 'dig',
    token: tokenAt(log, source, args),
    account: argument.address(args, source.digger),
    amount: argument.amount(args, source.amount),
    detail: source.graveId === null ? null : toStoredText(String(args[source.graveId])),
    counted: true,
  }
}
