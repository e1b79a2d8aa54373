import { toEventSelector } from 'viem'
import type { BridgeEvent } from '../bridges.ts'
import { type PlacedLog, readTransfer, type Transfer, wordOf, ZERO } from './canonical-chain.ts'

/** A burn as the register is to show it. */
export interface RecountedBurn {
  readonly place: number
  readonly kind: 'burn' | 'transfer'
  readonly account: string
  /** What counts, after mints of the same transaction are undone. */
  readonly amount: bigint
}

export interface TransactionCount {
  readonly burns: readonly RecountedBurn[]
  /** Mints that are neither moves of a bridge nor undone. */
  readonly minted: bigint
}

interface CountInput {
  readonly token: string
  readonly bridges: readonly BridgeEvent[]
  readonly burnAddresses: readonly string[]
}

interface PlacedTransfer extends Transfer {
  readonly place: number
}

/** What one transaction burned and newly minted of one token. */
export function countTransaction(
  logs: readonly PlacedLog[],
  { token, bridges, burnAddresses }: CountInput,
): TransactionCount {
  const transfers: PlacedTransfer[] = []
  for (const log of logs) {
    const transfer = readTransfer(log, token)
    if (transfer !== undefined) transfers.push({ ...transfer, place: log.place })
  }
  const moves = bridgeMoves(transfers, bridgedAmounts(logs, bridges))
  const undoable = new Map<string, bigint>()
  const burns: RecountedBurn[] = []
  let minted = 0n
  for (const transfer of transfers) {
    if (moves.has(transfer)) continue
    const { from, to, amount, place } = transfer
    if (from === ZERO) {
      minted += amount
      if (to !== ZERO) undoable.set(to, (undoable.get(to) ?? 0n) + amount)
    }
    if (to === ZERO) {
      const undone = from === ZERO ? 0n : undoneBy(amount, undoable.get(from) ?? 0n)
      if (undone > 0n) undoable.set(from, 0n)
      minted -= undone
      // What a burn address holds was counted when it was sent there.
      if (burnAddresses.includes(from)) continue
      burns.push({ place, kind: 'burn', account: from, amount: amount - undone })
    } else if (burnAddresses.includes(to) && !burnAddresses.includes(from))
      burns.push({ place, kind: 'transfer', account: from, amount })
  }
  return { burns: burns.filter((burn) => burn.amount > 0n), minted }
}

/** A burn undoes all of what was minted to its holder before, or nothing. */
function undoneBy(burned: bigint, minted: bigint): bigint {
  return burned >= minted ? minted : 0n
}

/**
 * Each event of a bridge explains one mint or burn of exactly its amount: the last before it that
 * none explains, otherwise the first after it.
 */
function bridgeMoves(
  transfers: readonly PlacedTransfer[],
  events: readonly Bridged[],
): ReadonlySet<PlacedTransfer> {
  const moves = new Set<PlacedTransfer>()
  const free = (amount: bigint) =>
    transfers.filter(
      (each) =>
        each.amount === amount && (each.from === ZERO) !== (each.to === ZERO) && !moves.has(each),
    )
  const unexplained = events.filter(({ amount, place }) => {
    const move = free(amount).findLast((each) => each.place < place)
    if (move !== undefined) moves.add(move)
    return move === undefined
  })
  for (const { amount } of unexplained) {
    const [move] = free(amount)
    if (move !== undefined) moves.add(move)
  }
  return moves
}

interface Bridged {
  readonly place: number
  readonly amount: bigint
}

function bridgedAmounts(
  logs: readonly PlacedLog[],
  bridges: readonly BridgeEvent[],
): readonly Bridged[] {
  const found: Bridged[] = []
  for (const log of logs)
    for (const bridge of bridges)
      if (
        log.address.toLowerCase() === bridge.address.toLowerCase() &&
        log.topics[0] === toEventSelector(bridge.event)
      )
        found.push({ place: log.place, amount: wordOf(log, bridge.amountWord) })
  return found
}
