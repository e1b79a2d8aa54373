import type { Service } from 'sexton-client'
import { cards } from '#data/cards.ts'
import type { EventCard } from '#site/event-card.ts'
import { readAddress } from '../parts/my-wallet.ts'
import { whoOf } from '../register/entries.tsx'
import type { Entry } from '../state/types.ts'

/** What of the entries is shown; the empty text is all of them. They are in the page's address by these names. */
export interface Filters {
  /** The noun of a card. */
  readonly kind: string
  readonly chain: string
  readonly token: string
  readonly wallet: string
  /** `2026-11-24`, UTC. */
  readonly day: string
}

/** Those of the address that this service has. */
export function filtersIn(search: string, service: Service): Filters {
  const query = new URLSearchParams(search)
  const among = (name: string, known: readonly string[]) => {
    const asked = query.get(name)?.toLowerCase()
    return known.find((each) => each.toLowerCase() === asked) ?? ''
  }
  const day = query.get('day') ?? ''
  return {
    kind: among(
      'kind',
      kindsOf(service).map(({ noun }) => noun),
    ),
    chain: among(
      'chain',
      service.chains.map(({ name }) => name),
    ),
    token: among(
      'token',
      service.tokens.map(({ symbol }) => symbol),
    ),
    wallet: readAddress(query.get('wallet') ?? '') ?? '',
    day: Number.isNaN(Date.parse(`${day}T00:00:00Z`)) ? '' : day,
  }
}

export function searchOf(filters: object): string {
  const set = Object.entries(filters).filter(([, value]) => value !== '')
  return new URLSearchParams(set).toString()
}

/** Kinds of this ecosystem. */
export function kindsOf({ notConfigured }: Service, kind = ''): readonly EventCard[] {
  const missing: readonly string[] = notConfigured
  return cards.filter(({ part, noun }) => !missing.includes(part) && (kind === '' || kind === noun))
}

/** Parameters of the lists. */
export function queryOf({ chain, token, wallet, day }: Filters): Readonly<Record<string, string>> {
  return {
    ...(chain !== '' && { chain }),
    ...(token !== '' && { token }),
    ...(wallet !== '' && { address: wallet }),
    ...(day !== '' && { from: day, to: `${day}T23:59:59Z` }),
  }
}

export function matches(entry: Entry, { kind, chain, token, wallet, day }: Filters): boolean {
  return (
    (kind === '' || entry.entry === kind) &&
    (chain === '' || entry.chain === chain) &&
    (token === '' || entry.token === token) &&
    (wallet === '' || whoOf(entry)?.toLowerCase() === wallet.toLowerCase()) &&
    (day === '' || entry.timestamp.startsWith(day))
  )
}
