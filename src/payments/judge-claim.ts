import type { Address } from '#domain/address.ts'
import type { Claim } from './claim.ts'
import { CREDIT_MAX, type Credit } from './credit.ts'
import type { Deposit } from './deposit.ts'

export interface Evidence {
  /** Canonical deposits of the claim's transaction; all of one block. */
  readonly deposits: readonly Deposit[]
  /** Payers who signed that this transaction pays for this key. */
  readonly provenPayers: ReadonlySet<Address>
  /** Live credits of the claim's transaction. */
  readonly credits: readonly Credit[]
  /** The transaction settles a payment that came by another door: its money has its place. */
  readonly isReserved: boolean
  readonly headNumber: number
  /** Blocks on top of the transaction's before it counts. */
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
 * The chain decides, not the claim: a deposit counts for a key only if its sender owns the key or
 * signed that it pays for it, and only if it was not credited before.
 */
export function judgeClaim(claim: Claim, evidence: Evidence): Verdict {
  const [first] = evidence.deposits
  if (first === undefined) return { kind: 'wait', status: 'pending', confirmations: 0 }
  const depth = Math.max(0, evidence.headNumber - first.blockNumber)
  const confirmations = Math.min(depth, evidence.requiredConfirmations)
  if (depth < evidence.requiredConfirmations)
    return { kind: 'wait', status: 'confirming', confirmations }
  // Crediting before the other block's credit is reversed would count the money twice.
  if (evidence.credits.some(({ blockHash }) => blockHash !== first.blockHash))
    return { kind: 'wait', status: 'confirming', confirmations }
  // An unproven log may be made up, so it neither credits nor rejects a claim.
  if (evidence.deposits.some((deposit) => !deposit.proven))
    return { kind: 'wait', status: 'confirming', confirmations }
  const qualifying = evidence.deposits.filter((deposit) => qualifies(claim, evidence, deposit))
  if (qualifying.length === 0) return { kind: 'end', status: 'unlinked', confirmations }
  const deposits = evidence.isReserved
    ? []
    : qualifying.filter((deposit) => !evidence.credits.some((each) => isOf(each, deposit)))
  if (deposits.length === 0 && !evidence.credits.some((credit) => credit.claimId === claim.id))
    return { kind: 'end', status: 'rejected', confirmations }
  // A person has to look at a sum like this; until then it stays among the unclaimed deposits.
  if (deposits.some((deposit) => deposit.amount > CREDIT_MAX))
    return { kind: 'wait', status: 'confirming', confirmations }
  return { kind: 'credit', deposits, confirmations }
}

/** Compares logs first: an edit of `payTo` can shift positions, which only count covered transfers. */
function isOf(credit: Credit, deposit: Deposit): boolean {
  const isSameLog = credit.blockHash === deposit.blockHash && credit.logIndex === deposit.logIndex
  return isSameLog || credit.positionInTx === deposit.positionInTx
}

/** By itself `payerAddress` proves nothing, but it must name the one who pays. */
function qualifies(claim: Claim, evidence: Evidence, { from }: Deposit): boolean {
  return evidence.provenPayers.has(from) || (claim.byOwner && from === claim.owner)
}
