import { type CanonicalBlock, readTransfer, ZERO } from './canonical-chain.ts'

/** What every transfer of one token on one chain adds up to. */
export interface RecountedHoldings {
  /** By address, without the zero address; may be negative. */
  readonly balances: ReadonlyMap<string, bigint>
  /** All that the zero address sent. */
  readonly minted: bigint
  /** What the zero address received from others: what it sent itself stays in the supply. */
  readonly destroyed: bigint
  /** What the zero address sent itself. */
  readonly stuck: bigint
}

/** Adds up the transfers of some blocks. */
export function recountHoldings(
  blocks: readonly CanonicalBlock[],
  token: string,
): RecountedHoldings {
  const balances = new Map<string, bigint>()
  let minted = 0n
  let destroyed = 0n
  let stuck = 0n
  for (const block of blocks)
    for (const log of block.logs) {
      const transfer = readTransfer(log, token)
      if (transfer === undefined) continue
      const { from, to, amount } = transfer
      if (from === ZERO) minted += amount
      else balances.set(from, (balances.get(from) ?? 0n) - amount)
      if (to !== ZERO) balances.set(to, (balances.get(to) ?? 0n) + amount)
      else if (from === ZERO) stuck += amount
      else destroyed += amount
    }
  return { balances, minted, destroyed, stuck }
}
