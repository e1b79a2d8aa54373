import { setTimeout as sleep } from 'node:timers/promises'
import { readStream } from '#examples/stream.ts'
import type { Route } from '#route.ts'
import { readRoute } from '../route-reader.ts'

const LISTS = ['/api/burns/recent', '/api/dividends/recent', '/api/grave-digs']

type Row = Readonly<Record<string, unknown>>

/** A client over HTTP, as docs/contract.md says to be one. */
export class StreamClient {
  readonly #routes: readonly Route[]
  #rows: Map<string, string> | undefined
  #prices = new Map<string, string>()
  #lastEventId = ''
  #stop = new AbortController()
  #reading: Promise<void> = Promise.resolve()

  constructor(routes: readonly Route[]) {
    this.#routes = routes
  }

  connect(origin: string, secret: string): void {
    this.#stop.abort()
    const stop = new AbortController()
    this.#stop = stop
    const before = this.#reading
    this.#reading = before
      .then(() => this.#readOn(origin, secret, stop.signal))
      .catch((error: unknown) => {
        if (!stop.signal.aborted) throw error
      })
  }

  async disconnect(): Promise<void> {
    this.#stop.abort()
    await this.#reading
  }

  /** Tries again while the register has no blocks. */
  async #readOn(origin: string, secret: string, signal: AbortSignal): Promise<void> {
    for (;;)
      try {
        return await this.#read(origin, secret, signal)
      } catch (error) {
        if (!/answered 503|data_not_ready/.test(`${error}`)) throw error
        await sleep(20, undefined, { signal })
      }
  }

  async #read(origin: string, secret: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const headers = { authorization: `Bearer ${secret}` }
    const more = { headers, signal, lastEventId: this.#lastEventId }
    for await (const { event, id, data } of readStream(`${origin}/api/stream`, more)) {
      if (event === 'reset') this.#rows = undefined
      if (this.#rows === undefined) {
        this.#lastEventId = id
        const known = await this.#readLists()
        if (signal.aborted) return
        this.#rows = known.rows
        this.#prices = known.prices
      } else this.#apply(event, data)
      this.#lastEventId = id
    }
  }

  #apply(event: string, { kind, row }: Record<string, unknown>): void {
    if (event !== 'add' && event !== 'update' && event !== 'retract') return
    const known = row as Row
    if (kind !== 'price') {
      if (event === 'retract') this.#rows?.delete(keyOf(known))
      else this.#rows?.set(keyOf(known), textOf(known))
    } else if (event !== 'retract') {
      if (known.usdExact === null) this.#prices.delete(String(known.token))
      else this.#prices.set(String(known.token), String(known.usdExact))
    }
  }

  async isLikeLists(): Promise<true | undefined> {
    const { rows, prices } = await this.#readLists()
    return (same(this.#rows, rows) && hasAll(this.#prices, prices)) || undefined
  }

  async #readLists() {
    const rows = new Map<string, string>()
    for (const path of LISTS)
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`
        const { data, meta } = await readRoute(this.#routes, `${path}?limit=100${query}`)
        for (const row of data as readonly Row[]) rows.set(keyOf(row), textOf(row))
        cursor = (meta as { page: { nextCursor: string | null } }).page.nextCursor
      }
    const stats = await readRoute(this.#routes, '/api/stats')
    const { prices } = stats.data as { prices: Record<string, Record<string, string>> }
    const moving = Object.entries(prices).filter(([, { source }]) => source !== 'fixed')
    return { rows, prices: new Map(moving.map(([token, price]) => [token, price.usdExact ?? ''])) }
  }
}

/** A log may be two things, such as a burn and a claim. */
function keyOf({ id, from, recipient }: Row): string {
  return `${id} ${from === undefined ? '' : 'burn'} ${recipient === undefined ? '' : 'payout'}`
}

/** `finality` is that of the moment it was sent. */
function textOf({ finality: _, ...row }: Row): string {
  return JSON.stringify(row)
}

function same(a: ReadonlyMap<string, string> | undefined, b: ReadonlyMap<string, string>): boolean {
  return a?.size === b.size && hasAll(a, b)
}

/** A price that grows too old is no change. */
function hasAll(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return [...b].every(([key, text]) => a.get(key) === text)
}
