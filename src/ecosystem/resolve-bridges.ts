import { Type } from 'typebox'
import { ZERO_ADDRESS } from '#base/address.ts'
import { argument } from './event-arguments.ts'
import { requireArguments, resolveEvent } from './event-kinds/resolve-event.ts'
import type { Where } from './event-kinds/resolve-where.ts'
import type { EventSource } from './event-source.ts'
import { addressText, argumentName, chainName, closed, eventText, mapping } from './fields.ts'
import type { Resolver } from './resolver.ts'

/** An event that a bridge emits with each mint or burn of the token. */
export const bridge = Type.Object(
  {
    chain: chainName,
    address: addressText,
    event: eventText,
    amount: argumentName,
    /** Names the token of a bridge that moves others too: anyone can list one of their own there. */
    where: mapping.where,
  },
  closed,
)

interface BridgeFile {
  readonly chain: string
  readonly address: string
  readonly event: string
  readonly amount: string
  readonly where?: Where
}

interface TokenFile {
  readonly symbol: string
  readonly addresses: Readonly<Record<string, string>>
  readonly bridges?: readonly BridgeFile[]
}

/** Resolves bridge events like mapped ones, to token and amount of each move. */
export function resolveBridges(
  resolver: Resolver,
  tokens: readonly TokenFile[],
): readonly EventSource[] {
  return tokens.flatMap(({ bridges = [], ...token }, index) =>
    bridges.flatMap(({ amount, ...entry }, place): readonly EventSource[] => {
      const context = { resolver, field: `tokens[${index}].bridges[${place}]`, burnAddresses: [] }
      const mapped = resolveEvent(context, entry)
      if (mapped === undefined) return []
      requireArguments(context, mapped, { amount }, 'uint256')
      if (!(mapped.chain.name in token.addresses))
        resolver.problems.add(
          `${context.field}.chain`,
          `${token.symbol} has no address on "${mapped.chain.name}"; correct the chain, or add the address`,
        )
      const read: EventSource['read'] = (args) => ({
        ...MOVE,
        token: token.symbol,
        amount: argument.amount(args, amount),
      })
      return [{ ...mapped, read }]
    }),
  )
}

const MOVE = { kind: 'bridge', account: ZERO_ADDRESS, detail: null, counted: false } as const
