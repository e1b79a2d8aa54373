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
  readonly #added: FeedEvent[] = []
  readonly #valued: FeedEvent[] = []
  readonly removed: FeedEvent[] = []
  readonly priced = new Map<string, PriceLog>()
  readonly unpriced = new Set<string>()
  /** The lowest changed block of each chain, however many changes there are. */
  readonly touched = new Map<number, number>()

  get areTooMany(): boolean {
    return this.#added.length + this.#valued.length + this.removed.length > CHANGES_MAX
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
      this.#added.push({ dataset, ...at, kind, token, account, amount, detail, usd })
    }
  }

  remove(dataset: string, rows: readonly Row[]): void {
    for (const row of rows) {
      const event = { dataset, ...toListed(row) }
      this.#touch(event)
      if (!this.areTooMany) this.removed.push(event)
    }
  }

  /** The row is as it was before it got the value. */
  value(row: Row, usd: MicroUsd): void {
    const event = toFeedEvent(row)
    this.#touch(event)
    if (!this.areTooMany) this.#valued.push({ ...event, usd })
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
    return this.#added.toSorted(byPlace)
  }

  get valued(): readonly FeedEvent[] {
    return this.#valued.toSorted(byPlace)
  }
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
