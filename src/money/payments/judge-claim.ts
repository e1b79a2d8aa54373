import type { Address } from '#domain/address.ts'
import type { Deposit } from '#domain/deposit.ts'
import type { Claim } from './claim.ts'
import { CREDIT_MAX, type Credit } from './credit.ts'

export interface Evidence {
  readonly deposits: readonly Deposit[]
  readonly provenPayers: ReadonlySet<Address>
  /** Live ones of the transaction. */
  readonly credits: readonly Credit[]
  /** The transaction settles an x402 payment, credited there. */
  readonly isReserved: boolean
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

/**
 * The chain decides, not the claim: the sender must own the key or have signed, and the deposit
 * must not be credited yet.
 */
export function judgeClaim(claim: Claim, evidence: Evidence): Verdict {
  const [first] = evidence.deposits
  if (first === undefined) return { kind: 'wait', status: 'pending', confirmations: 0 }
  const depth = Math.max(0, evidence.headNumber - first.blockNumber)
  const confirmations = Math.min(depth, evidence.requiredConfirmations)
  if (depth < evidence.requiredConfirmations)
    return { kind: 'wait', status: 'confirming', confirmations }
  // Wait for the other block's reversal, or the money would count twice.
  if (evidence.credits.some(({ blockHash }) => blockHash !== first.blockHash))
    return { kind: 'wait', status: 'confirming', confirmations }
  // An unproven log may be made up: neither credit nor reject.
  if (evidence.deposits.some((deposit) => !deposit.proven))
    return { kind: 'wait', status: 'confirming', confirmations }
  const qualifying = evidence.deposits.filter((deposit) => qualifies(claim, evidence, deposit))
  if (qualifying.length === 0) return { kind: 'end', status: 'unlinked', confirmations }
  const deposits = evidence.isReserved
    ? []
    : qualifying.filter((deposit) => !evidence.credits.some((each) => isOf(each, deposit)))
  if (deposits.length === 0 && !evidence.credits.some((credit) => credit.claimId === claim.id))
    return { kind: 'end', status: 'rejected', confirmations }
  if (deposits.some((deposit) => deposit.amount > CREDIT_MAX))
    return { kind: 'wait', status: 'confirming', confirmations }
  return { kind: 'credit', deposits, confirmations }
}

/** Whether a credit is of this deposit: by its log, else by its position, which an edit of `payTo` can shift. */
export function isOf(credit: Credit, deposit: Deposit): boolean {
  const isSameLog = credit.blockHash === deposit.blockHash && credit.logIndex === deposit.logIndex
  return isSameLog || credit.positionInTx === deposit.positionInTx
}

/** `payerAddress` alone proves nothing. */
function qualifies(claim: Claim, evidence: Evidence, { from }: Deposit): boolean {
  return evidence.provenPayers.has(from) || (claim.byOwner && from === claim.owner)
}
