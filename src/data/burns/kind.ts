import { Type } from 'typebox'
import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { COIN_ADDRESS, TRANSFER_TOPIC } from '#base/token.ts'
import { argument } from '#ecosystem/event-arguments.ts'
import {
  defineEventKind,
  type MappedEvent,
  requireArguments,
  resolveEvent,
} from '#ecosystem/event-kind.ts'
import type { EventSource } from '#ecosystem/event-source.ts'
import { argumentName, entryOf, mapping } from '#ecosystem/fields.ts'
import { missing, readByCode } from '#ecosystem/mapping-code.ts'
import type { Resolver } from '#ecosystem/resolver.ts'

export const BURNS = 'burns'

const ROW_MEMBERS = [
  { name: 'from', field: 'from', type: 'address' },
  { name: 'amount', field: 'amount', type: 'amount' },
] as const

/** Events of kind `burn` go to the zero address, those of kind `transfer` to a burn address. */
export const burns = defineEventKind({
  part: 'burns',
  dataset: BURNS,
  noun: 'burns',
  tag: { name: 'Burns', description: 'Tokens permanently taken out of circulation' },
  example: (chain) => `/api/burns?period=7d&chain=${chain}`,
  streamed: { burn: 'burn', transfer: 'burn' },
  deed: 'burned',
  metrics: [
    { name: 'burned', unit: 'token' },
    { name: 'burnedCumulative', unit: 'token', isCumulative: true },
  ],
  byAccount: false,
  mapping: entryOf({
    ...mapping,
    from: Type.Optional(argumentName),
    amount: Type.Optional(argumentName),
    /** The receiver; without it, every event is of kind `burn`. */
    to: Type.Optional(argumentName),
  }),
  meaning:
    'Events that count as burns. On `Transfer` of a listed token: transfers to the zero address and to `supply.burnAddresses`, except from these. A further event of the same burns counts them twice.',
  meanings: {
    from: 'The argument that holds the wallet whose tokens are burned. Needed unless `rows` decides it.',
    to: 'The argument that holds the receiver. Without it, every event is a burn to the zero address.',
  },
  resolve(resolver, entry) {
    const burn = readByCode(resolver, entry, ROW_MEMBERS)
    const { from = missing(resolver, 'from'), amount = missing(resolver, 'amount') } = burn
    const mapped = resolveEvent(resolver, burn)
    if (mapped === undefined) return undefined
    const { token, chain, address } = mapped
    if (isTransferOfToken(mapped) && burn.decided.length > 0)
      resolver.report(
        'rows',
        `can only keep or leave out burns on a token's own Transfer; export "keep" alone`,
      )
    if (mapped.made !== undefined) resolver.report('contracts', 'is not for burns; remove it')
    const listed = resolver.tokenAt(chain, address)
    if (token !== null && listed !== undefined && listed !== token)
      resolver.report(
        'token',
        `is "${token.symbol}", but the contract at ${showAddress(address)} is ${listed.symbol}; correct one of them`,
      )
    requireArguments(resolver, mapped, { from, to: burn.to }, 'address')
    requireArguments(resolver, mapped, { amount }, 'uint256')
    if (token === null) return resolver.report('token', 'is missing; name the token that is burned')
    if (token.addresses.get(chain.name) === COIN_ADDRESS)
      return resolver.report(
        'token',
        'is the native coin, whose supply and burns are not read; name a token with a contract',
      )
    const { to, ...source } = toBurnAddresses(resolver, { ...mapped, to: burn.to })
    return {
      ...source,
      read(args) {
        const receiver = to === undefined ? ZERO_ADDRESS : argument.address(args, to)
        return {
          kind: receiver === ZERO_ADDRESS ? 'burn' : 'transfer',
          token: token.symbol,
          account: argument.address(args, from),
          amount: argument.amount(args, amount),
          detail: null,
          counted: true,
        }
      },
    }
  },
})

interface MappedBurn extends MappedEvent {
  readonly to: string | undefined
}

/**
 * On a token's own `Transfer`, only transfers to the zero address or a burn address from any other are burns:
 * `where` can narrow that set, never widen it. What a burn address holds was counted when it was sent there.
 */
function toBurnAddresses(resolver: Resolver, mapped: MappedBurn): MappedBurn {
  const [sender, receiver] = isTransferOfToken(mapped)
    ? mapped.event.inputs.map(({ name }) => name)
    : []
  if (sender === undefined || receiver === undefined) return mapped
  const burning = new Set<string>([ZERO_ADDRESS, ...resolver.burnAddresses])
  const wanted = mapped.where.get(receiver)
  const refused = mapped.whereNot.get(receiver)
  for (const address of wanted ?? [])
    if (!burning.has(address) && !resolver.isLeftOut('supply'))
      resolver.report(
        `where.${receiver}`,
        `${showAddress(address as Address)} is neither the zero address nor in supply.burnAddresses; add it there, or remove it here`,
      )
  const receivers = wanted ?? burning.difference(refused ?? new Set())
  if (receivers.size === 0)
    resolver.report(
      `where.${receiver}`,
      'leaves out every burn address; remove one of them here, or the mapping',
    )
  const where = new Map(mapped.where).set(receiver, receivers)
  const notFrom = new Set([...(mapped.whereNot.get(sender) ?? []), ...resolver.burnAddresses])
  const whereNot = new Map(mapped.whereNot).set(sender, notFrom)
  return { ...mapped, to: mapped.to ?? receiver, where, whereNot }
}

export function isTransferOfToken({
  topic0,
  token,
  chain,
  address,
}: Pick<EventSource, 'topic0' | 'token' | 'chain' | 'address'>): boolean {
  return topic0 === TRANSFER_TOPIC && token?.addresses.get(chain.name) === address
}
