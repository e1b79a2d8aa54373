import { type FeedCursor, parseCursor, showCursor } from '#chains/indexer/feed/cursor.ts'
import type { SharedPages } from '#serving/stream/feed-hub.ts'
import { matches, type ShownItem } from '#serving/stream/feed-rows.ts'
import type { Filter } from '#serving/stream/stream-parameters.ts'
import type { Webhook } from './webhook.ts'

/** How far a webhook has come, and up to when all of that is final. */
export interface FeedPosition {
  readonly cursor: FeedCursor
  readonly finalUnix: number | null
}

export function storedPosition({ cursor, finalUnix }: FeedPosition): Partial<Webhook> {
  return { cursor: showCursor(cursor), finalUnix }
}

export type FoundEvents =
  | { readonly kind: 'change'; readonly item: ShownItem; readonly after: FeedPosition }
  /** The feed no longer holds the cursor. */
  | { readonly kind: 'lost' }
  /** None so far in one look; there is more to read. */
  | { readonly kind: 'behind' }
  /** Nothing more for now. */
  | { readonly kind: 'end' }

/** The pages of one look. */
const PAGES_MAX = 20

/** Reads the feed for one webhook. */
export class FeedScan {
  readonly #pages: SharedPages
  readonly #filter: Filter
  #items: readonly ShownItem[] = []
  /** The position before the last change found; undefined if the cursor belongs to another feed. */
  at: FeedPosition | undefined

  constructor(pages: SharedPages, filter: Filter, { cursor, finalUnix }: Webhook) {
    const parsed = parseCursor(cursor)
    this.#pages = pages
    this.#filter = filter
    this.at = parsed && { cursor: parsed, finalUnix }
  }

  /** The next change that matches, again until `pass` is called. */
  async find(): Promise<FoundEvents> {
    for (let page = 0; page <= PAGES_MAX && this.at !== undefined; page += 1) {
      for (const [index, item] of this.#items.entries()) {
        // `finalized` itself is left out: rows say how final they are.
        if (item.change.op !== 'finalized' && matches(this.#filter, item)) {
          this.#items = this.#items.slice(index)
          return { kind: 'change', item, after: passed(this.at, item) }
        }
        this.at = passed(this.at, item)
      }
      const read = await this.#pages.page(this.at.cursor, this.#filter.finality)
      if (typeof read === 'string') return { kind: 'lost' }
      this.#items = read.items
      if (read.items.length === 0) {
        this.at = { ...this.at, cursor: read.next }
        return { kind: 'end' }
      }
    }
    return { kind: this.at === undefined ? 'lost' : 'behind' }
  }

  /** Goes on after the change that was found. */
  pass(after: FeedPosition): void {
    this.#items = this.#items.slice(1)
    this.at = after
  }
}

function passed({ finalUnix }: FeedPosition, { change, cursor }: ShownItem): FeedPosition {
  const { op, event } = change
  const isLater = op === 'finalized' && event.timestamp > (finalUnix ?? 0)
  return { cursor, finalUnix: isLater ? event.timestamp : finalUnix }
}
