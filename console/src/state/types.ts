import type {
  BurnTotals,
  DividendClaim,
  Gate,
  Holder,
  Leader,
  Meta,
  Service,
  Stats,
  WalletClaims,
} from 'sexton-client'
import type { PageWords } from '#base/page-settings.ts'
import type { WalletFigures as Served, WalletShown } from '#site/wallet/wallet-figures.ts'

/** One value a day, oldest first, today last. */
export type Days = readonly (number | null)[]

export interface Series {
  readonly fromUnix: number
  readonly days: number
  /** Token units a day, by chain in the order of the ecosystem file. */
  readonly burned: Readonly<Record<string, Days>>
  readonly burnedInAll: Days
  readonly metrics: Readonly<Record<string, Days>>
}

/** A row of a kind of event, with the noun of its card; the other members are the kind's own. */
export type Entry = DividendClaim & { readonly entry: string; readonly [member: string]: unknown }

export interface Figures {
  readonly meta: Meta
  readonly stats: Stats
  readonly burns: BurnTotals
  readonly series: Series
  readonly newest: readonly Entry[]
  readonly leaders: readonly Leader[]
  /** With those that do not circulate and have no rank. */
  readonly holders: readonly Holder[]
}

export type WalletFigures = Omit<Served, 'claims' | 'gate'> & {
  readonly claims: WalletClaims['summary'] | null
  readonly gate: Gate | null
}

/** The document of `/snapshot.json`. */
export interface Snapshot {
  readonly madeUnix: number
  readonly service: Service
  /** Whether the register can be read now; if not, figures are the last ones. */
  readonly readable: boolean
  readonly words: PageWords
  /** What addresses are, by the ecosystem's file. */
  readonly labels: Readonly<Record<string, string>>
  /** Null until the index has read its first blocks; only `/` and `/snapshot.json` have all of them at first. */
  readonly figures: Figures | null
  /** Only in a wallet's page. */
  readonly wallet?: Omit<WalletShown, 'figures'> & { readonly figures: WalletFigures | null }
  /** Only in a transaction's page; null while the register fails. */
  readonly transaction?: readonly Entry[] | null
}
