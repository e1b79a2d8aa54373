import type { PageWords } from '#base/page-settings.ts'

/** Replaces the usual words by the file's, such as `Chests opened` for `Graves dug`. */
export function inWords(text: string, words: PageWords): string {
  return text.replace(/graves dug|grave dug|digger|dig(?=s?\b)/gi, (usual) => {
    const { graveDigs, graveDig, digger, dig } = words
    const own = { 'graves dug': graveDigs, 'grave dug': graveDig, digger, dig }
    const word = own[usual.toLowerCase() as keyof typeof own] ?? usual
    return /^[A-Z]/.test(usual) ? `${word.charAt(0).toUpperCase()}${word.slice(1)}` : word
  })
}

/** How the page shows a kind of event; the browser loads it too. */
export interface EventCard {
  /** Name of the kind's list in the ecosystem file. */
  readonly part: string
  /** Noun for one event, such as `claim`; also its name in the snapshot. */
  readonly noun: string
  /** Endpoint that lists the newest rows. */
  readonly list: { readonly operationId: string; readonly path: string }
  readonly charts: readonly EventChart[]
  /** Initial values of the request builder, by path; empty ones are left out. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The member of a row that names the wallet. */
  readonly wallet: string
  /** Describes the event in the usual words, such as `Dividend claimed`. */
  what(row: Readonly<Record<string, unknown>>): string
}

export interface EventChart {
  /** Name of the chart at `/charts/`. */
  readonly name: string
  readonly metric: string
  readonly title: string
  readonly marks: 'line' | 'bars'
  readonly unit: 'token' | 'usd' | 'count'
  /** Whether the page shows it among its small charts. */
  readonly isOnPage: boolean
}
