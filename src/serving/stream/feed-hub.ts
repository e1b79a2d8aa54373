import { type FeedState, readFeedState } from '#chains/indexer/feed/read-feed.ts'
import { sleep } from '#lib/sleep.ts'
import { type PagesDeps, SharedPages } from './shared-pages.ts'

export interface HubDeps extends PagesDeps {
  report(error: unknown): void
}

/** Equals the age that cached answers may have. */
const POLL_MS = 100

/** Readers wake this often without news, to be charged and to show that they are alive. */
const BEAT_MS = 500

/** Looks for news of the feed for all readers of this process, while there are any. */
export class FeedHub {
  readonly #deps: HubDeps
  readonly pages: SharedPages
  readonly #reading = new Set<AbortSignal>()
  #isRunning = false
  #hasFeed = false
  #news = Promise.withResolvers<void>()

  constructor(deps: HubDeps) {
    this.#deps = deps
    this.pages = new SharedPages(deps)
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
      this.#hasFeed = (await this.#deps.register.snapshot(readFeedState)) !== undefined
    return this.#hasFeed
  }

  news(): Promise<void> {
    return this.#news.promise
  }

  async #run(): Promise<void> {
    const { register, report } = this.#deps
    this.#isRunning = true
    let state: FeedState | undefined
    let beatMs = 0
    while (this.#hasReaders()) {
      const before = state
      state = await register.snapshot(readFeedState).catch((error: unknown) => {
        if (this.#hasReaders()) report(error)
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
