import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type FeedCursor, showCursor } from '#chains/indexer/feed/cursor.ts'
import { sleep } from '#lib/sleep.ts'
import type { Engine } from '#store/engine.ts'
import { readShown, type ShownDeps, type ShownPage } from './feed-rows.ts'
import type { Filter } from './stream-parameters.ts'

/** Changes of a page, about 35 KB; what a slow reader may hold. */
const PAGE = 50

/** About 8 MB: a page holds its changes and its text. */
const PAGES_MAX = 128

/** Readers work so long at a time, then other requests: a replay takes half the thread. */
const TURN_MS = 3

export interface PagesDeps extends ShownDeps {
  readonly register: Engine
}

/** Pages of the feed that readers at one place share, until they are cleared. */
export class SharedPages {
  readonly #deps: PagesDeps
  readonly #pages = new LRUCache<string, Promise<ShownPage>>({ max: PAGES_MAX })
  #turn: Promise<unknown> = Promise.resolve()
  #workedMs = 0

  constructor(deps: PagesDeps) {
    this.#deps = deps
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
    const page = this.#deps.register.snapshot((reads) => readShown(reads, this.#deps, input))
    this.#pages.set(key, page)
    page.catch(() => this.#pages.delete(key))
    return page
  }
}
