import type { Log } from '#domain/chain.ts'
import type { EventSource, PricedToken } from '#ecosystem/ecosystem.ts'
import type { PartEntry } from '#indexer/adopted-file/file-part.ts'
import { argument, DecodeError, type EventArguments } from '#indexer/decode-event.ts'

export type TokenAt<Source> = (log: Log, source: Source, args: EventArguments) => string

/** Unless the mapping names the token. */
export function tokenFacts(
  tokens: readonly PricedToken[],
  source: Pick<EventSource, 'chain'> & { readonly tokenArgument: string | null },
): PartEntry['facts'] {
  const { chain, tokenArgument } = source
  if (tokenArgument === null) return { tokenArgument }
  const listed = tokens.flatMap(({ symbol, addresses }) => {
    const address = addresses.get(chain.name)
    return address === undefined ? [] : [[address, symbol] as const]
  })
  return { tokenArgument, tokens: Object.fromEntries(listed) }
}

/** By address, or from the mapping. An unknown token makes the log an anomaly. */
export function tokenOf(
  tokens: readonly PricedToken[],
  input: {
    readonly log: Log
    readonly source: EventSource
    readonly args: EventArguments
    readonly argumentName: string | null
  },
): string {
  const { source, args, argumentName } = input
  if (argumentName === null) {
    if (source.token === null) throw new DecodeError('the mapping names no token')
    return source.token.symbol
  }
  const address = argument.address(args, argumentName)
  const token = tokens.find((each) => each.addresses.get(source.chain.name) === address)
  if (token === undefined)
    throw new DecodeError(`token ${address} is not listed for chain ${source.chain.name}`)
  return token.symbol
}
