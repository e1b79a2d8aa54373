import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { findUse, isUsed, readSettlement, type Settlement } from './read-settlement.ts'

/** What the chain says of an intent. */
export type Verdict =
  | Extract<Settlement, { kind: 'paid' }>
  /** Its payer withdrew it. */
  | { readonly kind: 'cancelled'; readonly paidWei: bigint }
  /** Our transaction is sealed and moved nothing; the authorization is unused. */
  | { readonly kind: 'reverted'; readonly paidWei: bigint }
  /** Its time has passed and it is unused. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open' }

/**
 * Asks the chain what became of an authorization, whoever sent it: our transaction first, then any
 * other that used it. A third party may have been quicker, and the money has come all the same.
 */
export async function reconcileIntent(
  deps: Pick<CreditDeps, 'rpc' | 'payment'>,
  intent: Intent,
): Promise<Verdict> {
  let paidWei = 0n
  let isSealed = false
  if (intent.txHash !== null) {
    const own = await readSettlement(deps, intent, intent.txHash)
    if (own.kind === 'paid') return own
    isSealed = own.kind === 'unpaid'
    if (own.kind === 'unpaid') paidWei = own.paidWei
  }
  // Read before the state, so that a use in between is not taken for none.
  const head = await deps.rpc.header('latest')
  if (await isUsed(deps, intent)) return findOther(deps, intent, paidWei)
  if (isSealed) return { kind: 'reverted', paidWei }
  const isPast = head !== undefined && BigInt(head.timestamp) >= intent.authorization.validBefore
  return isPast ? { kind: 'expired' } : { kind: 'open' }
}

async function findOther(
  deps: Pick<CreditDeps, 'rpc' | 'payment'>,
  intent: Intent,
  paidWei: bigint,
): Promise<Verdict> {
  const use = await findUse(deps, intent)
  if (use === undefined) return { kind: 'open' }
  if (use.kind === 'cancelled') return { kind: 'cancelled', paidWei }
  const other = await readSettlement(deps, intent, use.txHash)
  return other.kind === 'paid' ? { ...other, paidWei: paidWei + other.paidWei } : { kind: 'open' }
}
