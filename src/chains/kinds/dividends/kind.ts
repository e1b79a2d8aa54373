import { argument } from '#chains/ecosystem/event-arguments.ts'
import { defineEventKind } from '#chains/ecosystem/event-kinds/event-kind.ts'
import { requireArguments, resolveEvent } from '#chains/ecosystem/event-kinds/resolve-event.ts'
import { resolveToken } from '#chains/ecosystem/event-kinds/resolve-token.ts'
import { argumentName, closed, mapping } from '#chains/ecosystem/fields.ts'
import { Type } from '#lib/type.ts'
import { knownEvents } from './known-events.ts'

export const DIVIDENDS = 'dividends'

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
  mapping: Type.Object(
    {
      ...mapping,
      kind: Type.Enum(['claim', 'distribution']),
      amount: argumentName,
      recipient: Type.Optional(argumentName),
      tokenArgument: Type.Optional(argumentName),
    },
    closed,
  ),
  meaning: 'Events that pay holders, or put money into a pot for them.',
  meanings: {
    kind: '`claim`: paid to a wallet, and counted. `distribution`: put into the pot; shown, not counted.',
    recipient: 'The argument that holds the wallet that is paid. Required for `claim`.',
  },
  known: knownEvents,
  resolve(context, { kind, amount, recipient, ...dividend }) {
    const { resolver, field } = context
    const mapped = resolveEvent(context, dividend)
    if (mapped === undefined) return undefined
    requireArguments(context, mapped, { amount }, 'uint256')
    const token = resolveToken(context, mapped, dividend.tokenArgument)
    requireArguments(context, mapped, { recipient }, 'address')
    if (recipient === undefined && kind === 'claim')
      resolver.problems.add(
        `${field}.recipient`,
        'is missing: a claim names the argument that holds the claimer',
      )
    return {
      ...mapped,
      facts: { kind, amount, recipient: recipient ?? null, ...token.facts },
      read: (args) => ({
        kind,
        token: token.of(args),
        account: recipient === undefined ? null : argument.address(args, recipient),
        amount: argument.amount(args, amount),
        detail: null,
        counted: kind === 'claim',
      }),
    }
  },
})
