import { TREASURY_INDEX } from './account-table.ts'
import { eventKinds } from './event-kinds.ts'
import type { SyntheticChain } from './synthetic-chain.ts'
import type { BurnFact, TokenLife } from './token-life.ts'

export interface WindowTruth {
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
  readonly headNumber: number
  readonly headUnix: number
  /** Logs of the ecosystem: all but noise. */
  readonly wanted: number
  readonly logs: Readonly<Record<string, number>>
  readonly grave: TokenTruth
  readonly crypt: TokenTruth
  readonly claims: { readonly count: number; readonly usdcRaw: string; readonly wethRaw: string }
  readonly digs: { readonly count: number; readonly claimedRaw: string }
  readonly payments: { readonly count: number; readonly amountRaw: string }
}

const DAY_SECONDS = 86_400

/** Adds up what the chain's makers know of it. */
export function chainTruth({ life, blocks, accounts }: SyntheticChain): ChainTruth {
  const headUnix = blocks.timeOf(blocks.head)
  const logs = Object.fromEntries(
    eventKinds.map(({ name }, kind) => [name, life.logsByKind[kind] ?? 0]),
  )
  const all = Object.values(logs).reduce((sum, each) => sum + each, 0)
  const { usdc, weth } = life.claims
  return {
    headNumber: blocks.head,
    headUnix,
    wanted: all - (logs.noise ?? 0),
    logs,
    grave: tokenTruth(life.grave, accounts.dead, headUnix),
    crypt: tokenTruth(life.crypt, accounts.dead, headUnix),
    claims: {
      count: usdc.count + weth.count,
      usdcRaw: String(usdc.amount),
      wethRaw: String(weth.amount),
    },
    digs: { count: life.digs.count, claimedRaw: String(life.digs.amount) },
    payments: { count: life.payments.count, amountRaw: String(life.payments.amount) },
  }
}

function tokenTruth(token: TokenLife, dead: number, headUnix: number): TokenTruth {
  const supply = token.minted - token.burnedToZero
  const window = (days: number) =>
    sumBurns(token.burns.filter(({ timeUnix }) => timeUnix > headUnix - days * DAY_SECONDS))
  const total = sumBurns(token.burns)
  return {
    totalSupplyRaw: String(supply),
    circulatingRaw: String(supply - token.balanceOf(dead) - token.balanceOf(TREASURY_INDEX)),
    totalBurnedRaw: total.burnedRaw,
    burnCount: total.burnCount,
    holderCount: token.countHolders(),
    last24h: window(1),
    last7d: window(7),
    last30d: window(30),
  }
}

function sumBurns(burns: readonly BurnFact[]): WindowTruth {
  const sum = burns.reduce((total, { amount }) => total + amount, 0n)
  return { burnCount: burns.length, burnedRaw: String(sum) }
}
