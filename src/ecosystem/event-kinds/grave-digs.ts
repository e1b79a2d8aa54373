import { toStoredText } from '#lib/stored-text.ts'
import { Type } from '#lib/type.ts'
import { argument } from '../event-arguments.ts'
import { argumentName, closed, mapping } from '../fields.ts'
import { defineEventKind } from './event-kind.ts'
import { requireArguments, resolveEvent } from './resolve-event.ts'
import { resolveToken } from './resolve-token.ts'

export const GRAVE_DIGS = 'grave-digs'

/** `account` is the digger, `detail` the grave's id if the event has one. */
export const graveDigs = defineEventKind({
  part: 'graveDigs',
  dataset: GRAVE_DIGS,
  noun: 'grave digs',
  tag: { name: 'Grave digs', description: 'Claims of buried tokens' },
  example: () => '/api/grave-digs/leaderboard?limit=5',
  byAccount: true,
  mapping: Type.Object(
    {
      ...mapping,
      digger: argumentName,
      amount: argumentName,
      graveId: Type.Optional(argumentName),
      tokenArgument: Type.Optional(argumentName),
    },
    closed,
  ),
  resolve(context, { digger, amount, graveId, ...dig }) {
    const mapped = resolveEvent(context, dig)
    if (mapped === undefined) return undefined
    requireArguments(context, mapped, { amount }, 'uint256')
    requireArguments(context, mapped, { digger }, 'address')
    const token = resolveToken(context, mapped, dig.tokenArgument)
    requireArguments(context, mapped, { graveId })
    return {
      ...mapped,
      facts: { digger, amount, graveId: graveId ?? null, ...token.facts },
      read: (args) => ({
        kind: 'dig',
        token: token.of(args),
        account: argument.address(args, digger),
        amount: argument.amount(args, amount),
        detail: graveId === undefined ? null : toStoredText(String(args[graveId])),
        counted: true,
      }),
    }
  },
})
