import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type FeedCursor, showCursor } from '#chains/indexer/feed/cursor.ts'
import { type FeedState, readFeedState } from '#chains/indexer/feed/read-feed.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import { sleep } from '#lib/async.ts'
import { readShown, type ShownPage } from './feed-rows.ts'
import type { Filter } from './stream-parameters.ts'

/** Equals the age that cached answers may have. */
const POLL_MS = 100

/** Readers wake this often without news, to be charged and to show that they are alive. */
const BEAT_MS = 500

export const feedOf = oncePerContext((ctx) => new FeedHub(ctx))

/** Looks for news of the feed for all readers of this process, while there are any. */
class FeedHub {
  readonly #ctx: Context
  readonly pages: SharedPages
  readonly #reading = new Set<AbortSignal>()
  #isRunning = false
  #hasFeed = false
  #news = Promise.withResolvers<void>()

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.pages = new SharedPages(ctx)
  }

  get readers(): number {
    return this.#reading.size
  }

  /** Until it leaves or its signal aborts, so that nothing is read while the stores close. */
  enter(signal: AbortSignal): void {
    this.#reading.add(signal)
    if (!this.#isRunning) void this.#run()
  }

  leave(signal: AbortSignal): void {
    this.#reading.delete(signal)
  }

  /** Not until a chain is live. Known while there are readers, as hundreds may open at once. */
  async hasFeed(): Promise<boolean> {
    if (!this.#isRunning || !this.#hasFeed)
      this.#hasFeed = (await this.#ctx.register.snapshot(readFeedState)) !== undefined
    return this.#hasFeed
  }

  news(): Promise<void> {
    return this.#news.promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    let state: FeedState | undefined
    let beatMs = 0
    while (this.#hasReaders()) {
      const before = state
      state = await this.#ctx.register.snapshot(readFeedState).catch((error: unknown) => {
        if (this.#hasReaders()) reportError(this.#ctx, error)
        return undefined
      })
      if (state === undefined) this.#hasFeed = false
      beatMs += POLL_MS
      const isSame = before?.last === state?.last && before?.epoch === state?.epoch
      if (!isSame) this.pages.clear()
      if (!isSame || beatMs >= BEAT_MS) {
        beatMs = 0
        this.#wake()
      }
      await sleep(POLL_MS)
    }
    this.#isRunning = false
    this.pages.clear()
    this.#wake()
  }

  #hasReaders(): boolean {
    for (const each of this.#reading) if (each.aborted) this.#reading.delete(each)
    return this.readers > 0
  }

  #wake(): void {
    const { resolve } = this.#news
    this.#news = Promise.withResolvers()
    resolve()
  }
}

/** Changes of a page, about 35 KB; what a slow reader may hold. */
const PAGE = 50

/** About 8 MB: a page holds its changes and its text. */
const PAGES_MAX = 128

/** Readers work so long at a time, then other requests: a replay takes half the thread. */
const TURN_MS = 3

type Feed = Pick<Context, 'register' | 'ecosystem'>

/** Pages of the feed that readers at one place share, until they are cleared. */
export class SharedPages {
  readonly #ctx: Feed
  readonly #pages = new LRUCache<string, Promise<ShownPage>>({ max: PAGES_MAX })
  #turn: Promise<unknown> = Promise.resolve()
  #workedMs = 0

  constructor(ctx: Feed) {
    this.#ctx = ctx
  }

  clear(): void {
    this.#pages.clear()
  }

  /** What comes after the cursor. One reader after the other, with turns for other requests. */
  page(cursor: FeedCursor, finality: Filter['finality']): Promise<ShownPage> {
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
    this.#turn = page.then((read) => this.#letWrite(read)).catch(() => undefined)
    return page
  }

  /** A full page is a replay's, and costs what writing it takes even when it is shared. */
  async #letWrite(page: ShownPage): Promise<void> {
    if (typeof page !== 'object' || page.items.length < PAGE) return
    const startedMs = performance.now()
    await setImmediate()
    this.#workedMs += performance.now() - startedMs
  }

  #shared(cursor: FeedCursor, finality: Filter['finality']): Promise<ShownPage> {
    const key = `${finality} ${showCursor(cursor)}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const input = { cursor, finality, limit: PAGE }
    const page = this.#ctx.register.snapshot((reads) => readShown(this.#ctx, reads, input))
    this.#pages.set(key, page)
    page.catch(() => this.#pages.delete(key))
    return page
  }
}
