import { Type } from 'typebox'
import { showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import { named } from '#lib/schema.ts'
import { toIso } from '#lib/time.ts'
import type { Claim } from './claim.ts'
import type { ClaimState, ClaimStatus } from './claim-state.ts'

const MESSAGE_OF: Readonly<Record<ClaimStatus, string>> = {
  pending: 'pending_verification',
  confirming: 'pending_verification',
  verified: 'verified',
  rejected: 'no_matching_transfer',
  unlinked: 'payer_not_linked',
  expired: 'expired',
  reversed: 'reverted_by_reorg',
}

/** Each has a page at /problems/{message}. */
export const PREPAYMENT_MESSAGES: readonly string[] = [...new Set(Object.values(MESSAGE_OF))]

const oneOf = (values: readonly string[], options = {}) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  )

/** Without balances, so anyone may read it. */
export const PrepaymentRecord = named('Prepayment', {
  id: Type.String({ format: 'uuid' }),
  txHash: Type.String(),
  amountUsd: Type.Number({ description: 'As claimed; once verified, what the chain shows.' }),
  verified: Type.Boolean(),
  message: oneOf(PREPAYMENT_MESSAGES, {
    description: 'What it means and what to do: /problems/{message}.',
  }),
  status: oneOf(Object.keys(MESSAGE_OF)),
  apiKeyPublicId: Type.String(),
  payerAddress: Type.String(),
  creditedUsd: Type.Union([Type.Number(), Type.Null()]),
  confirmations: Type.Integer({
    description: 'Blocks on top of the transfer, at most requiredConfirmations.',
  }),
  requiredConfirmations: Type.Integer(),
  createdAt: Type.String({ format: 'date-time' }),
  verifiedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  hint: Type.Optional(Type.String({ description: 'In the 201 only: what the payer must sign.' })),
})

export function toPrepaymentRecord(claim: Claim, state: ClaimState, requiredConfirmations: number) {
  const { status, creditedMicroUsd: credited } = state
  return {
    id: claim.id,
    txHash: claim.txHash,
    amountUsd: toUsd(credited ?? claim.claimedMicroUsd),
    verified: status === 'verified',
    message: MESSAGE_OF[status],
    status,
    apiKeyPublicId: claim.publicId,
    payerAddress: showAddress(state.payerAddress),
    creditedUsd: credited === null ? null : toUsd(credited),
    confirmations: state.confirmations,
    requiredConfirmations,
    createdAt: toIso(claim.createdUnix),
    verifiedAt: state.verifiedUnix === null ? null : toIso(state.verifiedUnix),
  }
}
