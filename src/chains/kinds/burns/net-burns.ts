import type { EventFact } from '#chains/indexer/events/sums.ts'
import type { Address } from '#domain/address.ts'

/** A mint or burn: a transfer from or to the zero address. */
export interface SupplyMove {
  readonly token: string
  readonly holder: Address
  readonly amount: bigint
  readonly kind: 'mint' | 'burn'
}

/** What the dataset takes from one log. */
export interface BurnLog {
  readonly log: EventFact['log']
  /** The burn that its mapping reads. */
  readonly burn: EventFact | null
  readonly move: SupplyMove | null
  /** Moves that a bridge states with it, one per token. */
  readonly bridged: readonly Pick<SupplyMove, 'token' | 'amount'>[]
}

interface NetBurns {
  /** Burns with the amounts that count; none is 0. */
  readonly burns: readonly EventFact[]
  /** Amounts that a bridge minted or the same transaction undid, by token. */
  readonly unminted: ReadonlyMap<string, bigint>
}

/**
 * Nets one transaction's logs, in their order. A zero-address transfer next to a bridge event of the same
 * amount moves between chains. A burn of at least what its holder was minted before counts only what
 * exceeds that, so a flash mint burns nothing.
 */
export function netBurns(logs: readonly BurnLog[]): NetBurns {
  const bridged = bridgedMoves(logs)
  const minted = new Map<string, bigint>()
  const unminted = new Map<string, bigint>()
  const unmint = (token: string, amount: bigint) => {
    if (amount > 0n) unminted.set(token, (unminted.get(token) ?? 0n) + amount)
  }
  const burns: EventFact[] = []
  for (const { burn, move } of logs) {
    // A transfer to a burn address counts as it is, even if the zero address sent it.
    if (burn !== null && move?.kind !== 'burn') burns.push(burn)
    if (move === null) continue
    const { token, holder, amount, kind } = move
    if (bridged.has(move)) {
      if (kind === 'mint') unmint(token, amount)
      continue
    }
    const held = `${token}|${holder}`
    const notUndone = minted.get(held) ?? 0n
    if (kind === 'mint') minted.set(held, notUndone + amount)
    else if (amount >= notUndone) {
      minted.delete(held)
      unmint(token, notUndone)
      if (burn !== null && amount > notUndone) burns.push({ ...burn, amount: amount - notUndone })
    } else if (burn !== null) burns.push(burn)
  }
  return { burns, unminted }
}

/**
 * Each event takes the nearest move before it, as bridges emit theirs afterwards, or else the first
 * after it: a flash mint of the same amount around it is none.
 */
function bridgedMoves(logs: readonly BurnLog[]): ReadonlySet<SupplyMove> {
  const taken = new Set<SupplyMove>()
  const open = new Map<string, SupplyMove[]>()
  const early = new Map<string, number>()
  for (const { move, bridged } of logs) {
    if (move !== null) {
      const same = open.get(keyOf(move))
      if (same === undefined) open.set(keyOf(move), [move])
      else same.push(move)
    }
    for (const each of bridged) {
      const before = open.get(keyOf(each))?.pop()
      if (before !== undefined) taken.add(before)
      else early.set(keyOf(each), (early.get(keyOf(each)) ?? 0) + 1)
    }
  }
  for (const [key, events] of early)
    for (const move of open.get(key)?.slice(0, events) ?? []) taken.add(move)
  return taken
}

function keyOf({ token, amount }: Pick<SupplyMove, 'token' | 'amount'>): string {
  return `${token}|${amount}`
}
