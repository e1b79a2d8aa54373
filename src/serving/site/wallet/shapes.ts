import type { EventCard } from '../event-card.ts'
import type { NewestRow } from '../snapshot.ts'

/** What the page of a wallet and its picture show; also loaded by the browser, as types. */
export interface WalletFigures {
  readonly madeUnix: number
  readonly address: string
  /** Such as `As of block base 1,234`. */
  readonly source: string
  readonly held: readonly WalletHolding[]
  readonly claims: Claims['summary'] | null
  /** What the wallet did, by the noun of the events. */
  readonly done: Readonly<Record<string, Done | null>>
  /** Null if it is not among the first 100 diggers. */
  readonly digger: Digger | null
  readonly gate: Gate | null
  readonly newest: readonly NewestRow[]
}

/** A token that the wallet may hold. */
export interface WalletHolding {
  readonly token: string
  readonly priceUsd: number | null
  readonly change24hPct: number | null
  readonly holderCount: number | null
  readonly inAll: Balance | null
  /** Null while the chain is read. */
  readonly chains: readonly { readonly chain: string; readonly own: Balance | null }[]
}

export interface Balance {
  readonly balance: string
  readonly change24h: string
  /** Of the supply on the chains that the balance is on. */
  readonly sharePct: number
  readonly rank: number | null
  readonly excluded: boolean
}

/** Sums of the newest events of one kind. */
export interface Done {
  /** Whether these are all of them. */
  readonly isWhole: boolean
  readonly tokens: readonly {
    readonly token: string
    readonly count: number
    readonly amount: string
  }[]
  /** Worth at the time on each of the last 90 days, today last; null where it is not known. */
  readonly usdByDay: readonly (number | null)[]
  /** Events of these days without a price, which they leave out. */
  readonly unpricedCount: number
}

export interface Claims {
  readonly summary: {
    readonly claimCount: number
    readonly usdAtClaim: number | null
    readonly unpricedCount: number
    readonly usdNow: number | null
    readonly lastClaimUnix: number | null
    readonly tokens: readonly {
      readonly token: string
      readonly amount: string
      readonly usdAtClaim: number | null
      readonly usdNow: number | null
      readonly claimCount: number
    }[]
  }
}

export interface Digger {
  readonly rank: number
  readonly address: string
  readonly token: string
  readonly totalClaimed: string
  readonly sharePct: number
  readonly digCount: number
}

export interface Gate {
  readonly canMint: boolean
  readonly requiredUsd: number | null
  readonly heldUsd: number | null
  readonly tokens: readonly {
    readonly symbol: string
    readonly amount: string
    readonly valueUsd: number
  }[]
  readonly tier: string
  readonly dailyQuota: number
  readonly tiers: readonly {
    readonly tier: string
    readonly dailyQuota: number
    readonly symbol: string
    readonly held: string
    readonly needed: string
    readonly reached: boolean
  }[]
}

export interface PageService {
  readonly notConfigured: readonly string[]
  readonly tokens: readonly {
    readonly symbol: string
    readonly role: string
    readonly decimals: number
    readonly addresses: Readonly<Record<string, string>>
  }[]
}

export interface Stats {
  readonly prices: Readonly<
    Record<string, { readonly usd: number; readonly change24hPct: number | null }>
  >
  readonly tokens: readonly { readonly symbol: string; readonly holderCount: number | null }[]
}

export type WalletCard = Pick<EventCard, 'noun' | 'list'>

/** What a page carries of its wallet. */
export interface WalletShown {
  /** Null while the register fails, and while the caller has looked at too many. */
  readonly figures: WalletFigures | null
  /** The time from which the caller may look again; null if it may. */
  readonly openUnix: number | null
}
