import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { findUse, isUsed, readSettlement, type Settlement } from './read-settlement.ts'
import { knownHashes } from './transaction-store.ts'

/** What the chain says of an intent; only `paid`, and what is said to be deep, is told by one look. */
export type Verdict =
  | Extract<Settlement, { kind: 'paid' }>
  /** Its payer withdrew it, deep enough for a reorg not to change it or not yet. */
  | { readonly kind: 'cancelled'; readonly isDeep: boolean }
  /** The token says that it is used, but the node does not show by what. */
  | { readonly kind: 'used' }
  /** Our transaction is sealed deep and moved nothing; anybody may still send the authorization. */
  | { readonly kind: 'reverted' }
  /** Its time has passed at a deep block, and it is unused there. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open' }

/** Authorizations are looked at for this long beyond their end, for reorgs that are late. */
export const MARGIN_SECONDS = 60

type Deps = Pick<CreditDeps, 'engine' | 'rpc' | 'payment'>

/**
 * Asks the chain what became of an authorization, whoever sent it: our transactions first, then any
 * other that used it. A third party may have been quicker, and the money has come all the same. An
 * end without money is told of a block that is as deep as a prepayment has to be, and the node has to
 * have that very block: one that lags, or a reorg, must not end what is going to be paid.
 */
export async function reconcileIntent(deps: Deps, intent: Intent): Promise<Verdict> {
  let unpaidAt: number | undefined
  for (const txHash of await knownHashes({ run: deps.engine.read }, intent)) {
    const settlement = await readSettlement(deps, intent, txHash)
    if (settlement.kind === 'paid') return settlement
    if (settlement.kind === 'unpaid') unpaidAt = settlement.blockNumber
  }
  // Read before the state, so that a use in between is not taken for none.
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

/** Whether no money can come of it any more. */
export function isOver(verdict: Verdict): boolean {
  return verdict.kind === 'expired' || (verdict.kind === 'cancelled' && verdict.isDeep)
}
