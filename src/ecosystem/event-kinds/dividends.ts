import { Type } from '#lib/type.ts'
import { argument } from '../event-arguments.ts'
import { argumentName, closed, mapping } from '../fields.ts'
import { defineEventKind } from './event-kind.ts'
import { requireArguments, resolveEvent } from './resolve-event.ts'
import { resolveToken } from './resolve-token.ts'

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
