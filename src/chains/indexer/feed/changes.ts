import { type Log, placeOf } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Row } from '#store/sql.ts'
import { type EventPlace, toListed } from '../events/list-events.ts'
import type { EventFact } from '../events/sums.ts'
import { type FeedEvent, toFeedEvent } from './read-feed.ts'

export interface PriceLog {
  readonly symbol: string
  readonly log: EventPlace
}

type PriceFact = Omit<PriceLog, 'log'> & {
  readonly log: Omit<EventPlace, 'place'> & Pick<Log, 'txIndex' | 'logIndex'>
}

/** A commit with more is a reset: reading the lists again is cheaper for everyone. */
const CHANGES_MAX = 10_000

export class Changes {
  readonly #added = new Map<string, FeedEvent>()
  readonly #valued = new Map<
    string,
    { readonly event: FeedEvent; readonly before: bigint | null }
  >()
  readonly removed: FeedEvent[] = []
  readonly priced = new Map<string, PriceLog>()
  readonly unpriced = new Set<string>()
  /** The lowest changed block of each chain, however many changes there are. */
  readonly touched = new Map<number, number>()

  get areTooMany(): boolean {
    return this.#added.size + this.#valued.size + this.removed.length > CHANGES_MAX
  }

  add(
    dataset: string,
    facts: readonly EventFact[],
    values: readonly (MicroUsd | null | undefined)[],
  ): void {
    for (const [index, { log, kind, token, account, amount, detail }] of facts.entries()) {
      this.#touch(log)
      if (this.areTooMany) continue
      const { chainId, blockNumber, txHash, timestamp } = log
      const at = { chainId, blockNumber, place: placeOf(log), txHash, timestamp }
      const usd = values[index] ?? null
      const event = { dataset, ...at, kind, token, account, amount, detail, usd }
      this.#added.set(keyOf(event), event)
    }
  }

  remove(dataset: string, rows: readonly Row[]): void {
    for (const row of rows) {
      const event = { dataset, ...toListed(row) }
      this.#touch(event)
      if (!this.areTooMany) this.removed.push(event)
    }
  }

  value(row: Row, usd: MicroUsd | null): void {
    const event = toFeedEvent(row)
    this.#touch(event)
    if (this.areTooMany) return
    const key = keyOf(event)
    if (this.#added.has(key)) this.#added.set(key, { ...event, usd })
    else {
      const before = this.#valued.get(key)?.before ?? event.usd
      this.#valued.set(key, { event: { ...event, usd }, before })
    }
  }

  price(facts: readonly PriceFact[]): void {
    for (const { symbol, log } of facts) {
      const each = { symbol, log: { ...log, place: placeOf(log) } }
      const known = this.priced.get(each.symbol)
      if (known === undefined || isNewer(each, known)) this.priced.set(each.symbol, each)
    }
  }

  #touch({ chainId, blockNumber }: Pick<EventPlace, 'chainId' | 'blockNumber'>): void {
    const lowest = this.touched.get(chainId) ?? blockNumber
    this.touched.set(chainId, Math.min(lowest, blockNumber))
  }

  get added(): readonly FeedEvent[] {
    return [...this.#added.values()].sort((a, b) => byPlace(a, b))
  }

  get valued(): readonly FeedEvent[] {
    return [...this.#valued.values()]
      .filter(({ event, before }) => event.usd !== before)
      .map(({ event }) => event)
      .sort((a, b) => byPlace(a, b))
  }
}

function keyOf({ dataset, chainId, blockNumber, place }: FeedEvent): string {
  return `${dataset} ${chainId} ${blockNumber} ${place}`
}

export function byPlace(
  a: Pick<EventPlace, 'timestamp' | 'blockNumber' | 'place'>,
  b: Pick<EventPlace, 'timestamp' | 'blockNumber' | 'place'>,
): number {
  return a.timestamp - b.timestamp || a.blockNumber - b.blockNumber || a.place - b.place
}

export function isNewer(a: PriceLog, b: PriceLog): boolean {
  return byPlace(a.log, b.log) >= 0
}
