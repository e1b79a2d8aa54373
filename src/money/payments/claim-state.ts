import type { Address } from '#domain/address.ts'
import type { CanonicalDeposits } from '#domain/deposit.ts'
import type { MicroUsd } from '#domain/money.ts'
import { unixNow } from '#lib/time.ts'
import { readKnown } from '#money/payments/deposit.ts'
import { CLAIM_TTL_SECONDS, type Claim } from './claim.ts'
import { readProvenPayers } from './claim-store.ts'
import { type Credit, creditsOf } from './credit.ts'
import { judgeClaim } from './judge-claim.ts'
import type { PaymentsDeps } from './payments-deps.ts'

export type ClaimStatus =
  | 'pending'
  | 'confirming'
  | 'verified'
  | 'rejected'
  | 'unlinked'
  | 'expired'
  | 'reversed'

/** What became of a claim, as its credits and the chain show it now. */
export interface ClaimState {
  readonly status: ClaimStatus
  readonly confirmations: number
  readonly payerAddress: Address
  readonly creditedMicroUsd: MicroUsd | null
  readonly verifiedUnix: number | null
}

interface Facts {
  /** The credits of its transaction, reversed ones too. */
  readonly credits: readonly Credit[]
  readonly provenPayers: ReadonlySet<Address>
  /** Settles an x402 payment, credited separately. */
  readonly isReserved: boolean
  /** Undefined while the index does not know. */
  readonly known: CanonicalDeposits | undefined
  readonly nowUnix: number
  readonly requiredConfirmations: number
}

/** The chain first: a credit made meanwhile is then seen, and never shown as waiting for its blocks. */
export async function readClaimState(
  deps: Pick<PaymentsDeps, 'engine' | 'deposits' | 'clock' | 'confirmations' | 'isReserved'>,
  claim: Claim,
): Promise<ClaimState> {
  const known = await readKnown(deps, [claim.txHash])
  const stored = await deps.engine.snapshot(async (reads) => ({
    credits: await creditsOf(reads, [claim.txHash]),
    provenPayers: (await readProvenPayers(reads, [claim.id])).get(claim.id) ?? new Set<Address>(),
    isReserved: (await deps.isReserved?.(reads, claim.txHash)) ?? false,
  }))
  const nowUnix = unixNow(deps.clock)
  const { confirmations: requiredConfirmations } = deps
  return stateOf(claim, { ...stored, known, nowUnix, requiredConfirmations })
}

export function stateOf(claim: Claim, facts: Facts): ClaimState {
  const { known, provenPayers, isReserved, requiredConfirmations } = facts
  const live = facts.credits.filter(({ reversedUnix }) => reversedUnix === null)
  const own = live.filter(({ claimId }) => claimId === claim.id)
  if (own.length > 0) return verified(own, requiredConfirmations)
  const deposits = known?.deposits.filter(({ txHash }) => txHash === claim.txHash) ?? []
  const waiting = {
    payerAddress: claim.payerAddress,
    creditedMicroUsd: null,
    verifiedUnix: null,
  }
  if (known === undefined || deposits.length === 0)
    return { ...waiting, status: unseen(claim, facts), confirmations: 0 }
  const evidence = { deposits, credits: live, provenPayers, isReserved }
  const { kind, confirmations, ...verdict } = judgeClaim(claim, {
    ...{ ...evidence, headNumber: known.head.number, requiredConfirmations },
  })
  const status = 'status' in verdict ? verdict.status : 'confirming'
  return { ...waiting, status, confirmations }
}

function verified(own: readonly Credit[], confirmations: number): ClaimState {
  const [first] = own
  if (first === undefined) throw new Error('a verified claim has a credit')
  return {
    status: 'verified',
    confirmations,
    payerAddress: first.payerAddress,
    creditedMicroUsd: own.reduce((sum, credit) => sum + credit.microUsd, 0n),
    verifiedUnix: Math.min(...own.map(({ createdUnix }) => createdUnix)),
  }
}

/** The chain's time counts too, so that claims do not expire while the index is behind. */
function unseen(claim: Claim, { known, nowUnix }: Facts): ClaimStatus {
  if (claim.wasCredited) return 'reversed'
  if (known === undefined || !known.isComplete) return 'pending'
  const isPast = Math.min(nowUnix, known.head.timestamp) >= claim.openedUnix + CLAIM_TTL_SECONDS
  return isPast ? 'expired' : 'pending'
}

export function isOpen(status: ClaimStatus): boolean {
  return status === 'pending' || status === 'confirming'
}
