import { LRUCache } from 'lru-cache'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type Cursor, showCursor } from '#indexer/feed/cursor.ts'
import { type FeedState, readEnd, readFeedState } from '#indexer/feed/read-feed.ts'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { readShown, type ShownPage } from './feed-rows.ts'
import type { Filter } from './stream-parameters.ts'

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

/** About 35 KB; what a slow reader may hold. */
const PAGE = 50

/** Pages that readers share, about 4 MB. */
const PAGES_MAX = 128

/** After so much work for readers other requests have as long: a replay takes half the thread. */
const TURN_MS = 3

/** Reads the feed for all readers of this process, while there are any. */
export class FeedHub {
  readonly #deps: HubDeps
  #state: FeedState | undefined
  readonly #reading = new Map<AbortSignal, () => void>()
  #isRunning = false
  #polling: Promise<FeedState | undefined> = Promise.resolve(undefined)
  #queued: Promise<FeedState | undefined> | undefined
  #news = Promise.withResolvers<void>()
  readonly #pages = new LRUCache<string, Promise<ShownPage>>({ max: PAGES_MAX })
  #turn: Promise<unknown> = Promise.resolve()
  #workedMs = 0

  constructor(deps: HubDeps) {
    this.#deps = deps
  }

  get readers(): number {
    return this.#reading.size
  }

  get clock(): Clock {
    return this.#deps.clock
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

  /** At least as new as this call; undefined until a chain is live. */
  refresh(): Promise<FeedState | undefined> {
    this.#queued ??= this.#polling
      .catch(() => undefined)
      .then(async () => {
        this.#queued = undefined
        this.#polling = this.#deps.register.snapshot(readFeedState)
        this.#state = await this.#polling
        return this.#state
      })
    return this.#queued
  }

  end(): Promise<Cursor | undefined> {
    return this.#deps.register.snapshot(readEnd)
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
    this.#pages.clear()
    this.#wake()
  }

  #wake(): void {
    const { resolve } = this.#news
    this.#news = Promise.withResolvers()
    resolve()
  }

  /** What comes after the cursor. One reader after the other, with turns for other requests. */
  page(cursor: Cursor, finality: Filter['finality']): Promise<ShownPage> {
    const page = this.#turn.then(async () => {
      if (this.#workedMs > TURN_MS) {
        await sleep(this.#workedMs)
        this.#workedMs = 0
      }
      const startedMs = performance.now()
      const read = await this.#shared(cursor, finality)
      this.#workedMs += performance.now() - startedMs
      return read
    })
    this.#turn = page.catch(() => undefined)
    return page
  }

  #shared(cursor: Cursor, finality: Filter['finality']): Promise<ShownPage> {
    const key = `${finality} ${showCursor(cursor)} ${this.#state?.epoch} ${this.#state?.last}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const input = { cursor, finality, limit: PAGE }
    const page = this.#deps.register.snapshot((reads) => readShown(reads, this.#deps, input))
    this.#pages.set(key, page)
    page.catch(() => this.#pages.delete(key))
    return page
  }
}
