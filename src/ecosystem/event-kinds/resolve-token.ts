import { tokenAddress } from '#base/token.ts'
import { argument, type EventArguments, UnlistedTokenError } from '../event-arguments.ts'
import type { MappingContext } from './event-kind.ts'
import { type MappedEvent, requireArguments } from './resolve-event.ts'

interface TokenOfEvent {
  /** Symbol of the event's token; throws UnlistedTokenError. */
  of(args: EventArguments): string
}

/** Finds the token by the address in an argument, or as the mapping names it. */
export function resolveToken(
  context: MappingContext,
  mapped: MappedEvent,
  tokenArgument: string | undefined,
): TokenOfEvent {
  const { resolver, field } = context
  const { chain, token } = mapped
  if (tokenArgument === undefined) {
    if (token === null)
      resolver.problems.add(
        `${field}.token`,
        'is missing: name the token, or the argument that holds it as tokenArgument',
      )
    return { of: () => token?.symbol ?? '' }
  }
  requireArguments(context, mapped, { tokenArgument }, 'address')
  return {
    of(args) {
      const address = tokenAddress(argument.address(args, tokenArgument))
      const found = resolver.tokenAt(chain, address)
      if (found === undefined)
        throw new UnlistedTokenError(`token ${address} is not listed for chain ${chain.name}`)
      return found.symbol
    },
  }
}
