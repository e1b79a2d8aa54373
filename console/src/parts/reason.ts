import type { Figures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { count } from './format.ts'

const t = texts.unknown

/** Why supply, holders and balances of a token are not known, on all chains or on one. */
export function whyUnknown(
  { unknown, chains }: Figures['meta'],
  token: string,
  chain?: string,
): string {
  const isMeant = (of: { readonly chain: string }) => chain === undefined || of.chain === chain
  const fault = unknown.find(
    (each) => each.dataset === 'holders' && each.token === token && isMeant(each),
  )
  if (fault !== undefined) return t[fault.reason](token, fault.chain)
  const behind = chains.find((each) => each.status === 'syncing' && isMeant(each))
  if (behind !== undefined) return t.syncing(behind.chain, count(behind.blockNumber))
  return t.nothing(token)
}

/** Why a token has no price, or no worth although it has one. */
export function whyNoPrice({ stats, meta }: Figures, symbol: string): string {
  const gap = stats.tokens.find((each) => each.symbol === symbol)?.priceUnknown
  return gap == null ? whyUnknown(meta, symbol) : t.price[gap](symbol)
}
