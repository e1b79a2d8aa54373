import { LRUCache } from 'lru-cache'
import { sleep } from '#base/async.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import { type FeedCursor, readEnd, readFeedState, showCursor } from '#index/feed.ts'
import { eventText, matches, RESET_OF_ALL, readShown, type ShownPage } from './feed-rows.ts'
import type { Filter } from './stream-parameters.ts'

/** Delay before a client reconnects. */
const RETRY_MS = 2_000

/** Proxies close connections that are silent for longer. */
const HEARTBEAT_MS = 15_000

/**
 * Writes server-sent events (WHATWG HTML, 9.2) after a cursor, or from now on. Yields at least every half second; an
 * empty text means nothing new.
 */
export async function* followFeed(
  ctx: Context,
  { after, filter }: { readonly after: FeedCursor | undefined; readonly filter: Filter },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { clock, register } = ctx
  const news = getNews(ctx)
  news.enter(signal)
  try {
    let at = after ?? (await register.snapshot(readEnd)) ?? NOWHERE
    yield `retry: ${RETRY_MS}\n${eventText('ready', '{}', at)}`
    let wroteMs = clock()
    while (!signal.aborted) {
      const next = news.next()
      const page = await news.pages.page(at)
      let text = ''
      if (page === 'lost') {
        const end = await register.snapshot(readEnd)
        if (end === undefined) await next
        else text = eventText('reset', JSON.stringify(RESET_OF_ALL), end)
        at = end ?? at
      } else {
        text = page.items.map((each) => (matches(filter, each) ? each.text : '')).join('')
        if (page.items.length === 0) await next
        at = page.next
      }
      const isDue = Math.abs(clock() - wroteMs) >= HEARTBEAT_MS
      if (text === '' && isDue) text = `:\nid: ${showCursor(at)}\n\n`
      yield text
      if (text !== '') wroteMs = clock()
    }
  } finally {
    news.leave(signal)
  }
}

const NOWHERE: FeedCursor = { epoch: '0'.repeat(12), sequence: 0, hash: '' }

/** The same as the maximum age of cached answers. */
const POLL_MS = 100

/** Readers wake after this many polls even without news, to be charged and to notice a closed connection. */
const BEAT_POLLS = 5

const getNews = oncePerContext((ctx) => new News(ctx))

/** Polls the feed once for all streams of this process, while there are any. */
class News {
  readonly #ctx: Context
  readonly pages: SharedPages
  readonly #reading = new Set<AbortSignal>()
  #isRunning = false
  #next = Promise.withResolvers<void>()

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.pages = new SharedPages(ctx)
  }

  /** Keeps polling until the reader leaves or its signal aborts, so that nothing is read while the stores close. */
  enter(signal: AbortSignal): void {
    this.#reading.add(signal)
    if (!this.#isRunning) void this.#run()
  }

  leave(signal: AbortSignal): void {
    this.#reading.delete(signal)
  }

  next(): Promise<void> {
    return this.#next.promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    let last: string | undefined
    for (let polls = 0; this.#hasReaders(); polls += 1) {
      const state = await this.#ctx.register.snapshot(readFeedState).catch((error: unknown) => {
        if (this.#hasReaders()) reportError(this.#ctx, error)
        return undefined
      })
      const end = state && `${state.epoch} ${state.last}`
      if (end !== last) this.pages.clear()
      if (end !== last || polls % BEAT_POLLS === 0) this.#wake()
      last = end
      await sleep(POLL_MS)
    }
    this.#isRunning = false
    this.pages.clear()
    this.#wake()
  }

  #hasReaders(): boolean {
    for (const each of this.#reading) if (each.aborted) this.#reading.delete(each)
    return this.#reading.size > 0
  }

  #wake(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers()
    resolve()
  }
}

/** Changes per page, about 35 KB: the most that a slow reader buffers. */
const PAGE = 50

/** About 8 MB in all, as a page holds its changes and its text. */
const PAGES_MAX = 128

/** Pages that readers at the same cursor share, until they are cleared. */
export class SharedPages {
  readonly #ctx: Pick<Context, 'register' | 'ecosystem'>
  readonly #pages = new LRUCache<string, Promise<ShownPage>>({ max: PAGES_MAX })
  #reading: Promise<unknown> = Promise.resolve()

  constructor(ctx: Pick<Context, 'register' | 'ecosystem'>) {
    this.#ctx = ctx
  }

  clear(): void {
    this.#pages.clear()
  }

  /** Returns the changes after the cursor. */
  page(cursor: FeedCursor): Promise<ShownPage> {
    const key = showCursor(cursor)
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const page = this.#reading.then(() => this.#read(cursor))
    this.#reading = page.catch(() => undefined)
    this.#pages.set(key, page)
    page.catch(() => this.#pages.delete(key))
    return page
  }

  /** After a full page (a replay), pauses for as long as the read took, to leave time for other work. */
  async #read(cursor: FeedCursor): Promise<ShownPage> {
    const startedMs = performance.now()
    const input = { cursor, limit: PAGE }
    const page = await this.#ctx.register.snapshot((reads) => readShown(this.#ctx, reads, input))
    if (page !== 'lost' && page.items.length === PAGE) await sleep(performance.now() - startedMs)
    return page
  }
}
