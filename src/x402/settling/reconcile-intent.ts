import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { findUse, isUsed, readSettlement, type Settlement } from './read-settlement.ts'
import { knownHashes } from './transaction-store.ts'

export type Verdict =
  | Extract<Settlement, { kind: 'paid' }>
  /** Final only if deep. */
  | { readonly kind: 'cancelled'; readonly isDeep: boolean }
  | { readonly kind: 'used' }
  /** Moved nothing; others may still send the authorization. */
  | { readonly kind: 'reverted' }
  /** Unused at a deep block. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open' }

export const MARGIN_SECONDS = 60

type Deps = Pick<CreditDeps, 'engine' | 'rpc' | 'payment'>

/**
 * Our transactions first, then any other. Ending without money needs a deep block: a lagging node
 * must not end a payment that succeeds.
 */
export async function reconcileIntent(deps: Deps, intent: Intent): Promise<Verdict> {
  let unpaidAt: number | undefined
  for (const txHash of await knownHashes({ run: deps.engine.read }, intent)) {
    const settlement = await readSettlement(deps, intent, txHash)
    if (settlement.kind === 'paid') return settlement
    if (settlement.kind === 'unpaid') unpaidAt = settlement.blockNumber
  }
  // Before the state, so that a use in between is not missed.
  const head = await deps.rpc.header('latest')
  if (head === undefined) return { kind: 'open' }
  if (await isUsed(deps, intent)) return findOther(deps, intent, head.number)
  if (unpaidAt === undefined && BigInt(head.timestamp) < intent.authorization.validBefore)
    return { kind: 'open' }
  const deep = await deps.rpc.header(Math.max(0, head.number - deps.payment.confirmations))
  if (deep === undefined) return { kind: 'open' }
  const { validBefore } = intent.authorization
  const isPast = BigInt(deep.timestamp) >= validBefore + BigInt(MARGIN_SECONDS)
  const isReverted = unpaidAt !== undefined && unpaidAt <= deep.number
  if (!isPast && !isReverted) return { kind: 'open' }
  if (await isUsed(deps, intent, deep.number)) return { kind: 'used' }
  return { kind: isPast ? 'expired' : 'reverted' }
}

async function findOther(deps: Deps, intent: Intent, headNumber: number): Promise<Verdict> {
  const use = await findUse(deps, intent, headNumber)
  if (use === undefined) return { kind: 'used' }
  if (use.kind === 'cancelled')
    return { kind: 'cancelled', isDeep: use.blockNumber <= headNumber - deps.payment.confirmations }
  const other = await readSettlement(deps, intent, use.txHash)
  return other.kind === 'paid' ? other : { kind: 'used' }
}

export function isOver(verdict: Verdict): boolean {
  return verdict.kind === 'expired' || (verdict.kind === 'cancelled' && verdict.isDeep)
}
