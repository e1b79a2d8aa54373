import { showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import { toIso } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import type { Claim } from './claim.ts'
import type { ClaimState, ClaimStatus } from './claim-state.ts'

const MESSAGES: Readonly<Record<ClaimStatus, string>> = {
  pending: 'pending_verification',
  confirming: 'pending_verification',
  verified: 'verified',
  rejected: 'no_matching_transfer',
  unlinked: 'payer_not_linked',
  expired: 'expired',
  reversed: 'reverted_by_reorg',
}

const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

/** Without balances, so anyone may read it. */
export const PrepaymentRecord = named('Prepayment', {
  id: Type.String({ format: 'uuid' }),
  txHash: Type.String(),
  amountUsd: Type.Number({ description: 'As claimed; once verified, what the chain shows.' }),
  verified: Type.Boolean(),
  message: oneOf([...new Set(Object.values(MESSAGES))]),
  status: oneOf(Object.keys(MESSAGES)),
  apiKeyPublicId: Type.String(),
  payerAddress: Type.String(),
  creditedUsd: Type.Union([Type.Number(), Type.Null()]),
  confirmations: Type.Integer({
    description: 'Blocks on top of the transfer, at most requiredConfirmations.',
  }),
  requiredConfirmations: Type.Integer(),
  createdAt: Type.String({ format: 'date-time' }),
  verifiedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
})

export function toPrepaymentRecord(claim: Claim, state: ClaimState, requiredConfirmations: number) {
  const { status, creditedMicroUsd: credited } = state
  return {
    id: claim.id,
    txHash: claim.txHash,
    amountUsd: toUsd(credited ?? claim.claimedMicroUsd),
    verified: status === 'verified',
    message: MESSAGES[status],
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
