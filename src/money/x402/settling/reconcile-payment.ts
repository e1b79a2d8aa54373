import type { Address } from '#domain/address.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { findUse, isUsed, readSettlement, type Settlement } from './read-settlement.ts'
import type { X402Payment } from './x402-payment.ts'

export type ReconcileVerdict =
  | Extract<Settlement, { kind: 'paid' }>
  /** The authorization is cancelled, or used without a deposit for us. Final only if deep. */
  | { readonly kind: 'spent'; readonly isDeep: boolean }
  /** It is used, and no node shows by what. `isPast`: it has expired in a deep block. */
  | { readonly kind: 'used'; readonly isPast: boolean }
  /** Our transaction, in a shallow block: another one would probably revert too. */
  | { readonly kind: 'reverting' }
  /** Our transaction reverted in a deep block; anyone can still submit the authorization. */
  | { readonly kind: 'reverted' }
  /** It is unused at a deep block after its end. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open' }

export const MARGIN_SECONDS = 60

type Deps = Pick<CreditDeps, 'rpc' | 'payment'> & {
  /** Ours. Another facilitator's transaction that reverts ends nothing: it may send one more. */
  readonly wallet?: Address | undefined
}

/**
 * Looks at the named transaction first, then at any other. Ending without money needs a deep block: a lagging
 * node must not end a payment that succeeds.
 */
export async function reconcilePayment(
  deps: Deps,
  payment: X402Payment,
): Promise<ReconcileVerdict> {
  let unpaidAt: number | undefined
  if (payment.txHash !== null) {
    const settlement = await readSettlement(deps, payment, payment.txHash)
    if (settlement.kind === 'paid') return settlement
    if (settlement.kind === 'unpaid' && settlement.sender === deps.wallet)
      unpaidAt = settlement.blockNumber
  }
  // Before the state, so that a use in between is not missed.
  const head = await deps.rpc.header('latest')
  if (head === undefined) return { kind: 'open' }
  const isUsedNow = await isUsed(deps, payment)
  const other = isUsedNow ? await findOther(deps, payment, head.number) : undefined
  if (other !== undefined) return other
  const { validBefore } = payment.authorization
  const open = { kind: unpaidAt === undefined ? 'open' : 'reverting' } as const
  if (!isUsedNow && unpaidAt === undefined && BigInt(head.timestamp) < validBefore) return open
  const deep = await deps.rpc.header(Math.max(0, head.number - deps.payment.confirmations))
  const isPast =
    deep !== undefined && BigInt(deep.timestamp) >= validBefore + BigInt(MARGIN_SECONDS)
  if (isUsedNow) return { kind: 'used', isPast }
  const isReverted = unpaidAt !== undefined && deep !== undefined && unpaidAt <= deep.number
  if (!isPast && !isReverted) return open
  if (await isUsed(deps, payment, deep.number)) return { kind: 'used', isPast }
  return { kind: isPast ? 'expired' : 'reverted' }
}

/** Undefined if no node shows it. */
async function findOther(
  deps: Deps,
  payment: X402Payment,
  headNumber: number,
): Promise<ReconcileVerdict | undefined> {
  const use = await findUse(deps, payment, headNumber)
  if (use === undefined) return undefined
  const deepNumber = headNumber - deps.payment.confirmations
  if (use.isCancelled) return { kind: 'spent', isDeep: use.blockNumber <= deepNumber }
  const settlement = await readSettlement(deps, payment, use.txHash)
  if (settlement.kind === 'unpaid')
    return { kind: 'spent', isDeep: settlement.blockNumber <= deepNumber }
  return settlement.kind === 'paid' ? settlement : undefined
}

export function isOver(verdict: ReconcileVerdict): boolean {
  return verdict.kind === 'expired' || (verdict.kind === 'spent' && verdict.isDeep)
}
