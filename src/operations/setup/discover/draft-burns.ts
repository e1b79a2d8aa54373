import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { type Address, showAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { countOf } from '#lib/count-of.ts'
import type { BurnHabit } from './burn-habits.ts'
import type { Findings } from './inspect-chain.ts'

type BurnEntry = NonNullable<EcosystemFile['burns']>[number]

/** An entry that only the operator can decide on. */
export interface Question {
  /** The field, or the list that it would be an entry of, such as `burns`. */
  readonly path: string
  readonly text: string
  readonly entry: object | string
}

export interface DraftedBurns {
  readonly entries: readonly BurnEntry[]
  /** Listed by index of the entry. */
  readonly notes: readonly string[]
  readonly questions: readonly Question[]
}

/** Shares of a vault are burned only by transfers to dead addresses. */
export function draftBurns(
  found: readonly Findings[],
  symbolOf: (each: Findings) => string,
): DraftedBurns {
  const counted = found.flatMap((each) => {
    const burns = each.burns.filter(({ to }) => each.shareOf === undefined || to !== ZERO_ADDRESS)
    if (burns.length === 0) return []
    const where = each.shareOf === undefined ? {} : { where: { to: { not: ZERO_ADDRESS } } }
    return [{ entry: entryOf(each, symbolOf(each), where), note: burns.map(describe).join('; ') }]
  })
  return {
    entries: counted.map(({ entry }) => entry),
    notes: counted.map(({ note }) => note),
    questions: found.flatMap((each) => askAboutShares(each, symbolOf(each))),
  }
}

const TRANSFER_EVENT = 'event Transfer(address indexed from, address indexed to, uint256 value)'

function entryOf(
  { entry, token }: Findings,
  symbol: string,
  where: Pick<BurnEntry, 'where'>,
): BurnEntry {
  return {
    chain: entry.name,
    address: showAddress(token.address),
    token: symbol,
    event: TRANSFER_EVENT,
    ...where,
    from: 'from',
    to: 'to',
    amount: 'value',
  }
}

function askAboutShares(each: Findings, symbol: string): readonly Question[] {
  const redeemed = each.burns.find(({ to }) => to === ZERO_ADDRESS)
  if (each.shareOf === undefined || redeemed === undefined) return []
  return [
    {
      path: 'burns',
      text: `${symbol} is a share of a vault of ${showAddress(each.shareOf)} (ERC-4626): a share burns whenever its holder takes the asset out, and a new deposit mints it again. If these are burns all the same, use this entry instead (${describe(redeemed)}):`,
      entry: entryOf(each, symbol, { where: { to: ZERO_ADDRESS } }),
    },
  ]
}

function describe({ to, count, lastBlock, from, until }: BurnHabit): string {
  const receiver = to === ZERO_ADDRESS ? 'the zero address' : showAddress(to)
  return `${countOf(count, 'transfer')} to ${receiver} in blocks ${from} to ${until}, the last in ${lastBlock}`
}

/** Addresses where tokens end, besides the zero address. */
export function deadAddresses(found: readonly Findings[]): readonly Address[] {
  const all = found.flatMap(({ burns }) => burns.map(({ to }) => to))
  return [...new Set(all)].filter((each) => each !== ZERO_ADDRESS)
}
