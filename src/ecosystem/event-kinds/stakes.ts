import { Type } from '#lib/type.ts'
import { argument } from '../event-arguments.ts'
import { argumentName, closed, mapping } from '../fields.ts'
import { defineEventKind } from './event-kind.ts'
import { requireArguments, resolveEvent } from './resolve-event.ts'
import { resolveToken } from './resolve-token.ts'

export const STAKES = 'stakes'

/** `stake`: put in, counted. `withdrawal`: taken out, listed only. */
export const stakes = defineEventKind({
  part: 'stakes',
  dataset: STAKES,
  noun: 'stakes',
  tag: { name: 'Stakes', description: 'Tokens staked and withdrawn' },
  example: () => '/api/stakes?limit=3',
  byAccount: true,
  mapping: Type.Object(
    {
      ...mapping,
      kind: Type.Enum(['stake', 'withdrawal']),
      staker: argumentName,
      amount: argumentName,
    },
    closed,
  ),
  resolve(context, { kind, staker, amount, ...stake }) {
    const mapped = resolveEvent(context, stake)
    if (mapped === undefined) return undefined
    requireArguments(context, mapped, { staker }, 'address')
    requireArguments(context, mapped, { amount }, 'uint256')
    const token = resolveToken(context, mapped, undefined)
    return {
      ...mapped,
      facts: { kind, staker, amount },
      read: (args) => ({
        kind,
        token: token.of(args),
        account: argument.address(args, staker),
        amount: argument.amount(args, amount),
        detail: null,
        counted: kind === 'stake',
      }),
    }
  },
})
