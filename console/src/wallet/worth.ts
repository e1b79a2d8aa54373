import type { Balance, WalletHolding } from '#site/wallet/wallet-figures.ts'
import { sumOf } from '../parts/units.ts'

/** Dollars are in whole cents, cut before they are added; null where something is not known. */
export interface Line {
  readonly name: string
  readonly amount: string | null
  readonly change: string | null
  readonly cents: number | null
  readonly changeCents: number | null
  /** What of the change came and went. */
  readonly movedCents: number | null
  readonly sharePct: number | null
}

export interface TokenLines {
  readonly held: WalletHolding
  readonly sum: Line
  readonly chains: readonly Line[]
  /** Chains that the sum leaves out. */
  readonly missing: readonly string[]
}

export function linesOf(held: WalletHolding): TokenLines {
  const chains = held.chains.map(({ chain, own }) => lineOf(held, chain, own))
  const known = chains.filter(({ amount }) => amount !== null)
  const sum = {
    name: held.token,
    amount: known.length === 0 ? null : sumOf(known.map(({ amount }) => amount ?? '0')),
    change: known.length === 0 ? null : sumOf(known.map(({ change }) => change ?? '0')),
    cents: addUp(known.map(({ cents }) => cents)),
    changeCents: addUp(known.map(({ changeCents }) => changeCents)),
    movedCents: addUp(known.map(({ movedCents }) => movedCents)),
    sharePct: held.inAll?.sharePct ?? null,
  }
  const missing = held.chains.filter(({ own }) => own === null).map(({ chain }) => chain)
  return { held, sum, chains, missing }
}

/** Null if nothing is known, or one of them is not. */
export function addUp(values: readonly (number | null)[]): number | null {
  if (values.length === 0 || values.includes(null)) return null
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

function lineOf(
  { priceUsd, change24hPct, inAll }: WalletHolding,
  name: string,
  own: Balance | null,
): Line {
  if (own === null) {
    const none = { cents: null, changeCents: null, movedCents: null, sharePct: null }
    return { name, amount: null, change: null, ...none }
  }
  const { balance, change24h } = own
  const cents = priceUsd === null ? null : centsOf(balance, priceUsd)
  const oldPrice =
    priceUsd === null || change24hPct === null ? null : priceUsd / (1 + change24hPct / 100)
  const before = oldPrice === null ? null : centsOf(sumOf([balance, minus(change24h)]), oldPrice)
  const all = Number(inAll?.balance ?? 0)
  return {
    ...{ name, amount: balance, change: change24h, cents },
    changeCents: cents === null || before === null ? null : cents - before,
    movedCents: priceUsd === null ? null : centsOf(change24h, priceUsd),
    sharePct: inAll === null || all === 0 ? null : (inAll.sharePct * Number(balance)) / all,
  }
}

function minus(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

function centsOf(amount: string, price: number): number {
  const cents = Number(amount) * price * 100
  return Math.sign(cents) * Math.floor(Math.abs(cents) + 1e-6)
}
