import { Type } from 'typebox'
import { toStoredText } from '#db/sql.ts'
import { argument } from '#ecosystem/event-arguments.ts'
import {
  defineEventKind,
  requireArguments,
  resolveEvent,
  resolveToken,
} from '#ecosystem/event-kind.ts'
import { argumentName, entryOf, mapping } from '#ecosystem/fields.ts'
import { missing, readByCode } from '#ecosystem/mapping-code.ts'

export const GRAVE_DIGS = 'grave-digs'

const ROW_MEMBERS = [
  { name: 'digger', field: 'digger', type: 'address' },
  { name: 'amount', field: 'amount', type: 'amount' },
  { name: 'graveId', field: 'graveId', type: 'text', isOptional: true },
  { name: 'token', field: 'tokenArgument', type: 'address' },
] as const

/** `account` is the digger, `detail` the grave's id if the event has one. */
export const graveDigs = defineEventKind({
  part: 'graveDigs',
  dataset: GRAVE_DIGS,
  noun: 'grave digs',
  tag: { name: 'Grave digs', description: 'Claims of buried tokens' },
  example: () => '/api/grave-digs/leaderboard?limit=5',
  streamed: { dig: 'dig' },
  deed: 'dug',
  metrics: [{ name: 'graveDigs', unit: 'count' }],
  byAccount: true,
  mapping: entryOf({
    ...mapping,
    digger: Type.Optional(argumentName),
    amount: Type.Optional(argumentName),
    graveId: Type.Optional(argumentName),
    tokenArgument: Type.Optional(argumentName),
  }),
  meaning: 'Claims of buried tokens.',
  meanings: {
    digger: 'The argument that holds the wallet that digs. Needed unless `rows` decides it.',
    graveId: "The argument that holds the grave's id.",
  },
  resolve(resolver, entry) {
    const { graveId, ...dig } = readByCode(resolver, entry, ROW_MEMBERS)
    const { digger = missing(resolver, 'digger'), amount = missing(resolver, 'amount') } = dig
    const mapped = resolveEvent(resolver, dig)
    if (mapped === undefined) return undefined
    requireArguments(resolver, mapped, { amount }, 'uint256')
    requireArguments(resolver, mapped, { digger }, 'address')
    const token = resolveToken(resolver, mapped, dig.tokenArgument)
    requireArguments(resolver, mapped, { graveId })
    return {
      ...mapped,
      read: (args) => ({
        kind: 'dig',
        token: token.of(args),
        account: argument.address(args, digger),
        amount: argument.amount(args, amount),
        detail:
          graveId === undefined || args[graveId] === undefined
            ? null
            : toStoredText(String(args[graveId])),
        counted: true,
      }),
    }
  },
})
