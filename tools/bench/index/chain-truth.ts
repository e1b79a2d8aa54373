import type { SyntheticChain } from './synthetic-chain.ts'
import { type TokenLife, TREASURY } from './token-life.ts'

interface WindowTruth {
  readonly burnCount: number
  readonly burnedRaw: string
}

export interface TokenTruth {
  readonly totalSupplyRaw: string
  readonly circulatingRaw: string
  readonly totalBurnedRaw: string
  readonly burnCount: number
  readonly holderCount: number
  readonly last24h: WindowTruth
  readonly last7d: WindowTruth
  readonly last30d: WindowTruth
}

/** What an index of the chain must come to at its head; amounts in base units. */
export interface ChainTruth {
  readonly head: number
  /** Logs of the ecosystem: all but noise. */
  readonly logs: number
  readonly grave: TokenTruth
  readonly crypt: TokenTruth
  readonly claims: { readonly count: number; readonly usdcRaw: string; readonly wethRaw: string }
  readonly digs: { readonly count: number; readonly claimedRaw: string }
  readonly payments: number
}

const DAY_SECONDS = 86_400

export function chainTruth(chain: SyntheticChain): ChainTruth {
  const { life, head } = chain
  const { tokens, sums } = life
  return {
    head,
    logs: chain.logs.count - life.countOf('noise'),
    grave: tokenTruth(tokens.grave, chain.timeOf(head)),
    crypt: tokenTruth(tokens.crypt, chain.timeOf(head)),
    claims: {
      count: life.countOf('claim'),
      usdcRaw: String(sums.usdc),
      wethRaw: String(sums.weth),
    },
    digs: { count: life.countOf('dig'), claimedRaw: String(sums.dig) },
    payments: life.countOf('payment'),
  }
}

function tokenTruth({ balances, burns, dead, supply }: TokenLife, headUnix: number): TokenTruth {
  const burnsOf = (days: number): WindowTruth => {
    const since = burns.filter(({ timeUnix }) => timeUnix > headUnix - days * DAY_SECONDS)
    const sum = since.reduce((total, { amount }) => total + amount, 0n)
    return { burnCount: since.length, burnedRaw: String(sum) }
  }
  const all = burnsOf(Number.POSITIVE_INFINITY)
  return {
    totalSupplyRaw: String(supply),
    circulatingRaw: String(supply - dead - (balances[TREASURY] ?? 0n)),
    totalBurnedRaw: all.burnedRaw,
    burnCount: all.burnCount,
    holderCount: balances.filter((held, index) => held > 0n && index !== TREASURY).length,
    last24h: burnsOf(1),
    last7d: burnsOf(7),
    last30d: burnsOf(30),
  }
}
