import type { Address } from '#base/address.ts'
import type { CanonicalDeposits, Deposit } from '#base/deposit.ts'
import type { MicroUsd } from '#base/money.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { CLAIM_TTL_SECONDS, type Claim, readProvenPayers } from './claim.ts'
import { CREDIT_MAX, type Credit, listCredits } from './credit.ts'
import { readDeposits } from './deposits.ts'

export interface Evidence {
  readonly deposits: readonly Deposit[]
  readonly provenPayers: ReadonlySet<Address>
  /** Live credits of the transaction. */
  readonly credits: readonly Credit[]
  readonly headNumber: number
  readonly requiredConfirmations: number
}

export type Verdict =
  | {
      readonly kind: 'wait'
      readonly status: 'pending' | 'confirming'
      readonly confirmations: number
    }
  | {
      readonly kind: 'end'
      readonly status: 'unlinked' | 'rejected'
      readonly confirmations: number
    }
  | {
      readonly kind: 'credit'
      readonly deposits: readonly Deposit[]
      readonly confirmations: number
    }

/** Judges by the chain, not by the claim: the sender must own the key or have signed, and the deposit must not be credited yet. */
export function judgeClaim(claim: Claim, evidence: Evidence): Verdict {
  const [first] = evidence.deposits
  if (first === undefined) return { kind: 'wait', status: 'pending', confirmations: 0 }
  const depth = Math.max(0, evidence.headNumber - first.blockNumber)
  const confirmations = Math.min(depth, evidence.requiredConfirmations)
  if (depth < evidence.requiredConfirmations)
    return { kind: 'wait', status: 'confirming', confirmations }
  // Waits for the other block's reversal, or the money would count twice.
  if (evidence.credits.some(({ blockHash }) => blockHash !== first.blockHash))
    return { kind: 'wait', status: 'confirming', confirmations }
  // An unproven log may be made up, so neither credit nor reject.
  if (evidence.deposits.some((deposit) => !deposit.proven))
    return { kind: 'wait', status: 'confirming', confirmations }
  const qualifying = evidence.deposits.filter((deposit) => qualifies(claim, evidence, deposit))
  if (qualifying.length === 0) return { kind: 'end', status: 'unlinked', confirmations }
  const isCredited = (deposit: Deposit) =>
    evidence.credits.some((each) => isCreditFor(each, deposit))
  const deposits = qualifying.filter((deposit) => !isCredited(deposit))
  if (deposits.length === 0 && !evidence.credits.some((credit) => credit.claimId === claim.id))
    return { kind: 'end', status: 'rejected', confirmations }
  if (deposits.some((deposit) => deposit.amount > CREDIT_MAX))
    return { kind: 'wait', status: 'confirming', confirmations }
  return { kind: 'credit', deposits, confirmations }
}

/** Whether a credit belongs to this deposit: by log, else by position, which an edit of `payTo` can shift. */
function isCreditFor(credit: Credit, deposit: Deposit): boolean {
  const isSameLog = credit.blockHash === deposit.blockHash && credit.logIndex === deposit.logIndex
  return isSameLog || credit.positionInTx === deposit.positionInTx
}

/** A `payerAddress` without a signature proves nothing. */
function qualifies(claim: Claim, evidence: Evidence, { from }: Deposit): boolean {
  return evidence.provenPayers.has(from) || (claim.byOwner && from === claim.owner)
}

export type ClaimStatus =
  | 'pending'
  | 'confirming'
  | 'verified'
  | 'rejected'
  | 'unlinked'
  | 'expired'
  | 'reversed'

/** A claim's status, derived from its credits and the chain. */
export interface ClaimState {
  readonly status: ClaimStatus
  readonly confirmations: number
  readonly payerAddress: Address
  readonly creditedMicroUsd: MicroUsd | null
  readonly verifiedUnix: number | null
}

interface Facts {
  /** Credits of the transaction, including reversed ones. */
  readonly credits: readonly Credit[]
  readonly provenPayers: ReadonlySet<Address>
  /** Undefined before the chain is first read. */
  readonly known: CanonicalDeposits | undefined
  readonly nowUnix: number
  readonly requiredConfirmations: number
}

export async function readClaimState(ctx: Context, claim: Claim): Promise<ClaimState> {
  const stored = await ctx.accounts.snapshot(async (reads) => ({
    known: await readDeposits(reads, ctx.ecosystem.payment, [claim.txHash]),
    credits: await listCredits(reads, [claim.txHash]),
    provenPayers: await readProvenPayers(reads, claim.id),
  }))
  const nowUnix = unixNow(ctx.clock)
  const { confirmations: requiredConfirmations } = requirePayment(ctx)
  return deriveState(claim, { ...stored, nowUnix, requiredConfirmations })
}

export function deriveState(claim: Claim, facts: Facts): ClaimState {
  const { known, provenPayers, requiredConfirmations } = facts
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
  const evidence = { deposits, credits: live, provenPayers }
  const { kind, confirmations, ...verdict } = judgeClaim(claim, {
    ...{ ...evidence, headNumber: known.head.number, requiredConfirmations },
  })
  const status = 'status' in verdict ? verdict.status : 'confirming'
  return { ...waiting, status, confirmations }
}

function verified(own: readonly Credit[], confirmations: number): ClaimState {
  const [first] = own
  if (first === undefined) throw new Error('a verified claim must have a credit')
  return {
    status: 'verified',
    confirmations,
    payerAddress: first.payerAddress,
    creditedMicroUsd: own.reduce((sum, credit) => sum + credit.microUsd, 0n),
    verifiedUnix: Math.min(...own.map(({ createdUnix }) => createdUnix)),
  }
}

/** Also uses the chain's time, so that claims do not expire while the chain is not read. */
function unseen(claim: Claim, { known, nowUnix }: Facts): ClaimStatus {
  if (claim.wasCredited) return 'reversed'
  if (known === undefined || !known.isComplete) return 'pending'
  const isPast = Math.min(nowUnix, known.head.timestamp) >= claim.openedUnix + CLAIM_TTL_SECONDS
  return isPast ? 'expired' : 'pending'
}

export function isOpen(status: ClaimStatus): boolean {
  return status === 'pending' || status === 'confirming'
}
