import { showAddress } from '#domain/address.ts'
import { COIN_ADDRESS, tokenAddress } from '#domain/token.ts'
import { countOf } from '#lib/count-of.ts'
import type { Question } from './draft-burns.ts'
import type { Findings } from './inspect-chain.ts'
import type { Payout } from './payouts.ts'

/** Transfers of the coin leave no logs, so what a payout pays may only be asked. */
export function draftCoin(found: readonly Findings[]): readonly Question[] {
  const perChain = found.map(({ entry: { name: chain }, payouts, untold }) => ({
    chain,
    named: [...payouts, ...untold].filter(({ tokens }) =>
      tokens.some((each) => tokenAddress(each) === COIN_ADDRESS),
    ),
    untold,
  }))
  const concerned = perChain.filter(({ named, untold }) => named.length + untold.length > 0)
  if (concerned.length === 0) return []
  const addresses = Object.fromEntries(concerned.map(({ chain }) => [chain, 'native']))
  const entry = { symbol: 'ETH', name: 'Ether', role: 'reward', decimals: 18, addresses }
  const payers = concerned.flatMap(({ named }) => named.map(describe))
  const text =
    payers.length > 0
      ? `${payers.join(', ')}, some of them for the coin of the chain, which the file does not list: these are left out. To count them, ${ADD}`
      : `For payouts of the coin of the chain, ${ADD}`
  return [
    { path: 'tokens', text, entry },
    ...concerned.flatMap(({ chain, untold }) => untold.map((each) => askAbout(chain, each))),
  ]
}

const ADD =
  'add this, with the symbol of the coin and a price, such as a feed; a pool of its wrapped token does not price it:'

function askAbout(chain: string, payout: Payout): Question {
  const { address, event, known } = payout
  const token = known.mapping.tokenArgument === undefined ? { token: 'ETH' } : {}
  return {
    path: known.part,
    text: `${describe(payout)}, and moves no token beside it. If it pays the coin of the chain, add this, and the coin to the tokens:`,
    entry: { chain, address: showAddress(address), event, ...token, ...known.mapping },
  }
}

function describe({ address, known, count }: Payout): string {
  return `${showAddress(address)} emits ${known.signature} ${countOf(count, 'time')}`
}
