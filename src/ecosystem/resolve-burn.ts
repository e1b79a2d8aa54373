import { type Address, showAddress, ZERO_ADDRESS } from '#domain/address.ts'
import type { BurnSource } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { isTransferOfToken } from './repeated-burns.ts'
import { requireArgument, resolveEvent } from './resolve-event.ts'
import type { Resolver } from './resolver.ts'

type BurnFile = NonNullable<EcosystemFile['burns']>[number]

/**
 * Returns undefined after a problem. On a token's own `Transfer`, only transfers to the zero
 * address or a burn address are burns: `where` can narrow that set, never widen it.
 */
export function resolveBurn(
  resolver: Resolver,
  input: {
    readonly field: string
    readonly burn: BurnFile
    readonly burnAddresses: readonly Address[]
  },
): BurnSource | undefined {
  const { field, burn } = input
  const source = resolveEvent(resolver, field, burn)
  if (source === undefined) return undefined
  if (source.token === null)
    resolver.problems.add(`${field}.token`, 'is missing; name the token that is burned')
  const listed = resolver.tokenAt(source.chain, source.address)
  if (source.token !== null && listed !== undefined && listed !== source.token)
    resolver.problems.add(
      `${field}.token`,
      `is "${source.token.symbol}", but the contract at ${showAddress(source.address)} is ${listed.symbol}; correct one of them`,
    )
  requireArgument(resolver, source, `${field}.from`, burn.from, 'address')
  requireArgument(resolver, source, `${field}.amount`, burn.amount, 'uint256')
  if (burn.to !== undefined) requireArgument(resolver, source, `${field}.to`, burn.to, 'address')
  const mapped = { ...source, from: burn.from, amount: burn.amount, to: burn.to ?? null }
  const receiver = isTransferOfToken(source) ? source.event.inputs[1]?.name : undefined
  return receiver === undefined ? mapped : toBurnAddresses(resolver, { ...input, mapped, receiver })
}

function toBurnAddresses(
  resolver: Resolver,
  input: {
    readonly field: string
    readonly burnAddresses: readonly Address[]
    readonly mapped: BurnSource
    readonly receiver: string
  },
): BurnSource {
  const { mapped, receiver } = input
  const burning = new Set<string>([ZERO_ADDRESS, ...input.burnAddresses])
  const wanted = mapped.where.get(receiver)
  for (const address of wanted ?? [])
    if (!burning.has(address) && !resolver.isLeftOut('supply'))
      resolver.problems.add(
        `${input.field}.where.${receiver}`,
        `${showAddress(address as Address)} is neither the zero address nor in supply.burnAddresses; add it there, or remove it here`,
      )
  const where = new Map(mapped.where).set(receiver, wanted ?? burning)
  return { ...mapped, to: mapped.to ?? receiver, where }
}
