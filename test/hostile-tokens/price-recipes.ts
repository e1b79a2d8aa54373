import { addresses } from '#devnet/addresses.ts'
import type { LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import type { TransactionDraft } from './transaction-draft.ts'

const { ethUsdFeed, market } = addresses.base
const { gravePair, cryptPair } = market

/** Ether at 2,500 dollars, GRAVE at 1,000 dollars and CRYPT at 25 (with 18 decimals). */
export const firstPrices: readonly LogPlan[] = [
  logOf.answer(ethUsdFeed, 2_500n * 10n ** 8n, 1n),
  logOf.sync(gravePair, 4n * 10n ** 17n, 10n ** 18n),
  logOf.sync(cryptPair, 10n ** 16n, 10n ** 18n),
]

/** Moves one price; all of them are on base. */
export function movePrice(draft: TransactionDraft): void {
  if (draft.chain !== 'base') return
  const { chance } = draft
  const reserve = () => BigInt(chance.integer(1, 1_000_000)) * 10n ** BigInt(chance.integer(12, 22))
  draft.add(
    chance.pick([
      logOf.sync(gravePair, reserve(), reserve()),
      logOf.sync(cryptPair, reserve(), reserve()),
      logOf.answer(ethUsdFeed, BigInt(chance.integer(1, 5_000)) * 10n ** 8n, 2n),
    ]),
  )
}

/** Moves one price beyond anything that a market has seen. */
export function movePriceHigh(draft: TransactionDraft): void {
  if (draft.chain !== 'base') return
  const most = 2n ** 112n - 1n
  draft.add(
    draft.chance.pick([
      logOf.sync(gravePair, most, 1n),
      logOf.sync(cryptPair, most, 1n),
      logOf.answer(ethUsdFeed, 2n ** 200n, 3n),
    ]),
  )
}
