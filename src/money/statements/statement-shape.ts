import { type Static, Type } from 'typebox'
import { named } from '#lib/schema.ts'

const MicroUsd = (description: string) => Type.String({ pattern: '^-?[0-9]+$', description })

const Day = (description: string) => Type.String({ format: 'date', description })

export const MOVEMENT_KINDS = [
  'charges',
  'refund',
  'deposit',
  'x402_payment',
  'reversal',
  'grant',
  'move',
] as const

export const Movement = named('StatementMovement', {
  kind: Type.Enum(MOVEMENT_KINDS, {
    description:
      '`charges`: paid calls of a day; `refund`: calls of an earlier day whose charge was undone after it was closed; `reversal`: a deposit that a reorg took back; `move`: from or to another key of the wallet.',
  }),
  id: Type.String({ description: 'The journal entry; unique.' }),
  date: Day('The UTC day that it counts for.'),
  bookedAt: Type.String({ format: 'date-time' }),
  amountMicroUsd: MicroUsd('What it added to the balance, in base units of USDC.'),
  calls: Type.Optional(Type.Integer()),
  priceMicroUsd: Type.Optional(MicroUsd('Of one call.')),
  ofDate: Type.Optional(Day('Of a refund: the day of the calls.')),
  chainId: Type.Optional(Type.Integer()),
  txHash: Type.Optional(Type.String()),
  blockNumber: Type.Optional(Type.Integer()),
  logIndex: Type.Optional(Type.Integer({ description: 'In the block.' })),
  positionInTx: Type.Optional(
    Type.Integer({ description: "Among the transaction's transfers to `payTo`; survives reorgs." }),
  ),
  payerAddress: Type.Optional(Type.String()),
  depositMicroUsd: Type.Optional(
    MicroUsd('The whole transfer; more than amountMicroUsd where it repaid a debt.'),
  ),
  otherPublicId: Type.Optional(Type.String({ description: 'Of a move: the other key.' })),
  detail: Type.Optional(
    Type.String({ description: 'The reason of a grant; the cause of a move.' }),
  ),
})

export const Statement = named('Statement', {
  service: named('StatementService', {
    name: Type.String(),
    url: Type.String(),
    jwksUrl: Type.String({ description: 'The public keys of the service.' }),
    payTo: Type.Array(
      named('StatementPayee', {
        address: Type.String(),
        since: Type.String(),
        chainId: Type.Integer(),
        asset: Type.String(),
      }),
      { description: 'The wallets that were paid, up to the end of the period.' },
    ),
  }),
  key: named('StatementKey', {
    publicId: Type.String(),
    ownerAddress: Type.String(),
  }),
  period: named('StatementPeriod', {
    from: Day('The first UTC day.'),
    to: Day('The day after the last.'),
  }),
  openingBalanceMicroUsd: MicroUsd('At the start of the first day.'),
  closingBalanceMicroUsd: MicroUsd('The opening balance and all movements.'),
  movements: Type.Array(Movement, { description: 'By day, time of booking and id.' }),
  freeCalls: Type.Array(
    named('StatementFreeCalls', { date: Type.String(), calls: Type.Integer() }),
    { description: 'Calls of the quota, on days with charges.' },
  ),
})

export const SignedStatement = named('SignedStatement', {
  statement: Statement,
  jws: Type.String({
    description:
      'Compact JWS (RFC 7515, EdDSA) whose payload is `statement`; its `typ` is `statement`, its `kid` a key at `/.well-known/jwks.json`.',
  }),
})

export type Movement = Static<typeof Movement>
export type Statement = Static<typeof Statement>
export type SignedStatement = Static<typeof SignedStatement>
