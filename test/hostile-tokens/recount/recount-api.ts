import type { FigureList } from '../figures.ts'
import type { WorldPlan } from '../world-plan.ts'
import type { TokenSummary } from './recount-tokens.ts'

/** What the API is to say of the tokens: supply and holders are unknown where logs do not tell. */
export function addApiFigures(
  list: FigureList,
  tokens: readonly TokenSummary[],
  { decimals }: WorldPlan,
): void {
  list.add('api', 'answers', 'all')
  for (const token of tokens) {
    const { symbol, isOverdrawn, isUnreadable } = token
    const isKnown = !isOverdrawn && !isUnreadable
    const shown = (value: bigint) => decimalText(value, decimals[symbol])
    const known = (text: string) => (isKnown ? text : 'null')
    list.add('api', `${symbol} totalSupply`, known(shown(token.total)))
    list.add('api', `${symbol} circulatingSupply`, known(shown(token.circulating)))
    list.add('api', `${symbol} holderCount`, known(`${token.holders}`))
    list.add('api', `${symbol} pctOfMinted`, known(percentText(token.burned, token.newlyMinted)))
    list.add('api', `${symbol} totalBurned`, isUnreadable ? 'null' : shown(token.burned))
  }
}

function decimalText(raw: bigint, decimals: number): string {
  const sign = raw < 0n ? '-' : ''
  const digits = `${raw < 0n ? -raw : raw}`.padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

/** With six decimals, rounded half up; a share of nothing is unknown, but for nothing itself. */
function percentText(part: bigint, whole: bigint): string {
  if (whole === 0n) return part === 0n ? '0' : 'null'
  const millionths = (2n * part * 100n * 1_000_000n + whole) / (2n * whole)
  return `${Number(millionths) / 1_000_000}`
}
