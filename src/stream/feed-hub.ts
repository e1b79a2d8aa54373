import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type FeedState, readChanges, readFeedState, readFinal } from '#indexer/feed/read-feed.ts'
import { type IndexStatus, readIndexStatus } from '#indexer/status.ts'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { LISTED, type Shown, show } from './feed-rows.ts'

export interface HubDeps {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  report(error: unknown): void
}

/** As old as cached answers may be. */
const POLL_MS = 100

/** Readers wake this often without news, to be charged and to show that they are alive. */
const BEAT_MS = 500

/** Readers further behind read the register. About 4 MB. */
const RECENT_MAX = 5_000

/** Of a chunk, about 70 KB; what a slow reader may hold. */
export const PAGE = 100

/** Reads the feed once for all readers of this process, while there are any. */
export class FeedHub {
  readonly #deps: HubDeps
  #state: FeedState | undefined
  /** Without a hole, up to `last` of the state. */
  #recent: Shown[] = []
  readonly #reading = new Map<AbortSignal, () => void>()
  #isRunning = false
  #polling: Promise<FeedState | undefined> = Promise.resolve(undefined)
  #queued: Promise<FeedState | undefined> | undefined
  #news = Promise.withResolvers<void>()
  readonly #pages = new Map<string, Promise<readonly Shown[] | undefined>>()
  readonly #final = new WeakMap<Shown, Promise<readonly Shown[]>>()

  constructor(deps: HubDeps) {
    this.#deps = deps
  }

  get readers(): number {
    return this.#reading.size
  }

  get clock(): Clock {
    return this.#deps.clock
  }

  /** What has been read; undefined until a chain is live. */
  get state(): FeedState | undefined {
    return this.#state
  }

  /** Until its signal aborts, so that nothing is read while the stores close. */
  enter(signal: AbortSignal): void {
    const left = () => this.leave(signal)
    this.#reading.set(signal, left)
    signal.addEventListener('abort', left, { once: true })
    if (!this.#isRunning) void this.#run()
  }

  leave(signal: AbortSignal): void {
    const left = this.#reading.get(signal)
    if (left !== undefined) signal.removeEventListener('abort', left)
    this.#reading.delete(signal)
  }

  news(): Promise<void> {
    return this.#news.promise
  }

  /** The state, at least as new as this call; `state` may be gone again when the last reader leaves. */
  refresh(): Promise<FeedState | undefined> {
    this.#queued ??= this.#polling
      .catch(() => undefined)
      .then(() => {
        this.#queued = undefined
        this.#polling = this.#poll()
        return this.#polling
      })
    return this.#queued
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    let beatMs = 0
    while (this.readers > 0) {
      const before = this.#state
      await this.refresh().catch((error: unknown) => {
        if (this.readers > 0) this.#deps.report(error)
      })
      beatMs += POLL_MS
      const isSame = before?.last === this.#state?.last && before?.epoch === this.#state?.epoch
      if (!isSame || beatMs >= BEAT_MS) {
        beatMs = 0
        this.#wake()
      }
      await sleep(POLL_MS)
    }
    this.#isRunning = false
    this.#restart(undefined)
    this.#wake()
  }

  #wake(): void {
    const { resolve } = this.#news
    this.#news = Promise.withResolvers()
    resolve()
  }

  #restart(state: FeedState | undefined): FeedState | undefined {
    this.#recent = []
    this.#state = state
    return state
  }

  async #poll(): Promise<FeedState | undefined> {
    for (;;) {
      const before = this.readers > 0 ? this.#state : undefined
      const { state, page } = await this.#readAfter(before?.last)
      const isNext = page.length === 0 || page[0]?.change.sequence === (before?.last ?? 0) + 1
      if (state === undefined || state.epoch !== before?.epoch || !isNext)
        return this.#restart(state)
      this.#recent = [...this.#recent, ...page].slice(-RECENT_MAX)
      const last = page.at(-1)?.change.sequence ?? before.last
      this.#state = { ...state, last }
      if (page.length === 0 || last >= state.last) return this.#state
    }
  }

  #readAfter(after: number | undefined) {
    return this.#deps.register.snapshot(async (reads) => {
      const state = await readFeedState(reads)
      const isBehind = state !== undefined && after !== undefined && state.last > after
      return { state, page: isBehind ? await this.#show(reads, after, RECENT_MAX) : [] }
    })
  }

  async #show(reads: Connection, after: number, limit: number): Promise<readonly Shown[]> {
    const changes = await readChanges(reads, { after, limit })
    const status = await this.#status(reads)
    return status === undefined ? [] : changes.map((each) => show({ status, ...this.#deps }, each))
  }

  #status(reads: Connection): Promise<IndexStatus | undefined> {
    return readIndexStatus(reads, this.#deps.ecosystem.chains)
  }

  /** The next changes, none at the end; undefined if they are no longer kept. */
  async after(sequence: number): Promise<readonly Shown[] | undefined> {
    if (this.#state === undefined || sequence >= this.#state.last) return []
    const first = this.#recent[0]?.change.sequence
    if (first !== undefined && first <= sequence + 1)
      return this.#recent.slice(sequence + 1 - first, sequence + 1 - first + PAGE)
    return this.#pageAfter(sequence)
  }

  /** Once for all readers that come back with the same cursor. */
  #pageAfter(sequence: number): Promise<readonly Shown[] | undefined> {
    const key = `${this.#state?.epoch}.${sequence}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const page = this.#deps.register
      .snapshot((reads) => this.#show(reads, sequence, PAGE))
      .then((found) => (found[0]?.change.sequence === sequence + 1 ? found : undefined))
      .finally(() => this.#pages.delete(key))
    this.#pages.set(key, page)
    return page
  }

  final(of: Shown): Promise<readonly Shown[]> {
    const known = this.#final.get(of)
    if (known !== undefined) return known
    const { chainId, blockNumber: to, detail } = of.change.event
    const range = { chainId, from: Number(detail), to, datasets: LISTED }
    const reading = this.#deps.register.snapshot(async (reads) => {
      const status = await this.#status(reads)
      if (status === undefined) return []
      const events = await readFinal(reads, range)
      return events.map((event) =>
        show({ status, ...this.#deps }, { ...of.change, op: 'add', event }),
      )
    })
    this.#final.set(of, reading)
    reading.catch(() => this.#final.delete(of))
    return reading
  }
}
