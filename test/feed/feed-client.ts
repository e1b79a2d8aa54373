import assert from 'node:assert/strict'
import { toUsdPriceExact } from '#base/money.ts'
import { eventKinds } from '#data/kinds.ts'
import { latestPrice } from '#data/prices/price-book.ts'
import type { Connection, Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { listEvents } from '#index/events/list-events.ts'
import {
  type FeedChange,
  type FeedCursor,
  type FeedEvent,
  PRICES_OF_FEED,
  readEnd,
  readPage,
} from '#index/feed/read-feed.ts'
import { type IndexStatus, readIndexStatus } from '#index/status.ts'

const DATASETS = eventKinds.map(({ dataset }) => dataset)

/** What a client knows: rows by id, and the newest price of each token. */
interface Known {
  readonly rows: Map<string, string>
  readonly prices: Map<string, string>
}

/** A client of the feed, as the documentation says to be one. */
export class FeedClient {
  readonly #ecosystem: Ecosystem
  readonly #onlyFinal: boolean
  #cursor: FeedCursor | undefined
  #known: Known | undefined
  /** How often each kind of change was applied, and `reset`. */
  readonly seen = new Map<string, number>()

  constructor(ecosystem: Ecosystem, onlyFinal: boolean) {
    this.#ecosystem = ecosystem
    this.#onlyFinal = onlyFinal
  }

  /** Applies some changes, or does what comes before: take a cursor, then read the lists. */
  async step(engine: Engine, changesMax: number): Promise<boolean> {
    if (this.#cursor === undefined) return this.#open(engine)
    if (this.#known === undefined) {
      this.#known = await engine.snapshot((reads) => this.#readLists(reads))
      return this.#known !== undefined
    }
    const cursor = this.#cursor
    return engine.snapshot(async (reads) => {
      const finality = this.#onlyFinal ? 'finalized' : 'latest'
      const page = await readPage(reads, {
        ...{ cursor, finality, datasets: DATASETS, limit: changesMax },
      })
      assert(typeof page === 'object', 'a reader lost its place')
      for (const { change, cursor: after } of page.items) {
        this.#apply(change)
        this.#cursor = after
        if (change.op !== 'reset') continue
        this.#known = undefined
        return true
      }
      this.#cursor = page.next
      return page.items.length > 0
    })
  }

  async #open(engine: Engine): Promise<boolean> {
    this.#known = undefined
    this.#cursor = await engine.snapshot(readEnd)
    return this.#cursor !== undefined
  }

  #apply({ op, event, isFinal }: FeedChange): void {
    const known = this.#known
    assert(known !== undefined)
    this.#see(`${op} ${event.dataset}`.trim())
    if (op === 'finalized' || op === 'reset') return
    assert(isFinal || !this.#onlyFinal, 'a reader of final events got another')
    if (event.dataset === PRICES_OF_FEED) {
      if (op !== 'retract') putPrice(known, event)
    } else if (op === 'retract') known.rows.delete(idOf(event))
    else put(known, event)
  }

  #see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  async compare(engine: Engine): Promise<void> {
    while (await this.step(engine, 100));
    const now = await engine.snapshot((reads) => this.#readLists(reads))
    assert.deepEqual(sorted(this.#known?.rows), sorted(now?.rows))
    // A price that grows too old is no change.
    for (const [token, price] of this.#onlyFinal ? [] : (now?.prices ?? []))
      assert.equal(this.#known?.prices.get(token), price, token)
  }

  async #readLists(reads: Connection): Promise<Known | undefined> {
    const status = await readIndexStatus(reads, this.#ecosystem.chains)
    if (status === undefined) return undefined
    const known = { rows: new Map<string, string>(), prices: new Map<string, string>() }
    const chainIds = status.chains.map(({ chain }) => chain.id)
    for (const dataset of DATASETS) {
      const { events } = await listEvents(reads, { dataset, limit: 10_000, chainIds })
      for (const event of events)
        if (!this.#onlyFinal || isFinal(event, status)) put(known, { dataset, ...event })
    }
    const ecosystem = this.#ecosystem
    for (const { symbol, prices } of ecosystem.tokens) {
      const latest = await latestPrice({ ecosystem }, reads, symbol, status.asOfUnix)
      if (!('gap' in latest) && prices.every(({ chain }) => chain !== null))
        known.prices.set(symbol, toUsdPriceExact(latest.price))
    }
    return known
  }
}

function isFinal({ chainId, blockNumber }: Omit<FeedEvent, 'dataset'>, status: IndexStatus) {
  const of = status.chains.find(({ chain }) => chain.id === chainId)
  return blockNumber <= (of?.finalizedNumber ?? -1)
}

function put({ rows }: Known, event: FeedEvent): void {
  if (event.dataset === PRICES_OF_FEED) return
  const { kind, token, account, amount, detail, usd, timestamp } = event
  rows.set(idOf(event), [kind, token, account, amount, detail, usd, timestamp].join(' '))
}

function putPrice({ prices }: Known, { token, detail }: FeedEvent): void {
  if (detail === null) prices.delete(token)
  else prices.set(token, toUsdPriceExact(BigInt(detail)))
}

function idOf({ dataset, chainId, txHash, place }: FeedEvent): string {
  return `${dataset} ${chainId}:${txHash}:${place}`
}

function sorted(map: ReadonlyMap<string, string> | undefined): readonly (readonly string[])[] {
  return [...(map ?? [])].sort(([a], [b]) => a.localeCompare(b))
}
