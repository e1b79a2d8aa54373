import { Type } from 'typebox'
import type { Address } from '#base/address.ts'
import { argument, type EventArguments } from '#ecosystem/event-arguments.ts'
import {
  defineEventKind,
  requireArguments,
  resolveEvent,
  resolveToken,
} from '#ecosystem/event-kind.ts'
import { argumentName, entryOf, mapping } from '#ecosystem/fields.ts'
import { missing, readByCode } from '#ecosystem/mapping-code.ts'

export const DIVIDENDS = 'dividends'

const ROW_MEMBERS = [
  { name: 'amount', field: 'amount', type: 'amount' },
  { name: 'recipient', field: 'recipient', type: 'address', isOptional: true },
  { name: 'token', field: 'tokenArgument', type: 'address' },
] as const

/**
 * `claim`: paid to a wallet, counted. `distribution`: put into the pot, not counted, because it is
 * claimed later.
 */
export const dividends = defineEventKind({
  part: 'dividends',
  dataset: DIVIDENDS,
  noun: 'dividends',
  tag: { name: 'Dividends', description: 'Payouts to holders, in every reward token' },
  example: () => '/api/dividends/recent?limit=3',
  streamed: { claim: 'claim', distribution: 'distribution' },
  deed: 'was paid',
  metrics: [
    { name: 'dividends', unit: 'usd' },
    { name: 'dividendsCumulative', unit: 'usd', isCumulative: true },
  ],
  byAccount: true,
  mapping: entryOf({
    ...mapping,
    kind: Type.Enum(['claim', 'distribution']),
    amount: Type.Optional(argumentName),
    recipient: Type.Optional(argumentName),
    tokenArgument: Type.Optional(argumentName),
  }),
  meaning: 'Events that pay holders, or put money into a pot for them.',
  meanings: {
    kind: '`claim`: paid to a wallet, and counted. `distribution`: put into the pot; shown, not counted.',
    recipient:
      'The argument that holds the wallet that is paid. Required for `claim`, unless `rows` decides it.',
  },
  resolve(resolver, entry) {
    const { kind, recipient, ...dividend } = readByCode(resolver, entry, ROW_MEMBERS)
    const { amount = missing(resolver, 'amount') } = dividend
    const mapped = resolveEvent(resolver, dividend)
    if (mapped === undefined) return undefined
    requireArguments(resolver, mapped, { amount }, 'uint256')
    const token = resolveToken(resolver, mapped, dividend.tokenArgument)
    requireArguments(resolver, mapped, { recipient }, 'address')
    if (recipient === undefined && kind === 'claim')
      resolver.report('recipient', 'is missing: a claim names the argument that holds the claimer')
    return {
      ...mapped,
      read: (args) => ({
        kind,
        token: token.of(args),
        account: readAccount(kind, args, recipient),
        amount: argument.amount(args, amount),
        detail: null,
        counted: kind === 'claim',
      }),
    }
  },
})

/** The row of a distribution may name nobody. */
function readAccount(
  kind: 'claim' | 'distribution',
  args: EventArguments,
  recipient: string | undefined,
): Address | null {
  const isNobody = recipient === undefined || args[recipient] === undefined
  return isNobody && kind === 'distribution' ? null : argument.address(args, recipient ?? '')
}
