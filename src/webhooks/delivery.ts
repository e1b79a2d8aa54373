import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { parseCursor, showCursor } from '#indexer/feed/cursor.ts'
import { unixNow } from '#lib/time.ts'
import { readShown, type ShownPage } from '#stream/feed-rows.ts'
import type { Filter } from '#stream/stream-parameters.ts'
import { challengeWebhook } from './challenge.ts'
import type { Callers } from './charge-event.ts'
import { type DeliverDeps, deliverNext } from './deliver-next.ts'
import { followKeys } from './follow-keys.ts'
import { type ReadFeed, Scan } from './scan.ts'
import { takeTurns } from './take-turns.ts'
import { mayBeChallenged, type Webhook } from './webhook.ts'
import { readFilter } from './webhook-filter.ts'
import { changeWebhook, dueWebhooks, passUnmatched } from './webhook-store.ts'

export interface DeliveryDeps extends Omit<DeliverDeps, 'signal'> {
  /** Returns who pays for each key: its newest rotation. */
  callersOf(publicIds: readonly string[]): Promise<Callers>
  report(error: unknown): void
}

/** Most webhooks of a pass; the rest is due in the next. */
const DUE_MAX = 2_000

/** Keys are followed, and cursors of webhooks that have nothing to send stored, this often. */
const MOVE_EVERY_MS = 5_000

/** Webhooks of a transaction. */
const STORED_AT_ONCE = 200

/** Then others get the slot, and key and tier are looked up again. */
const TURN_MS = 1_000

/** How long a pass reads the feed; webhooks far behind take turns with the others. */
const LOOK_MS = 500

/** Changes of a page; pages that webhooks at one place share. */
const PAGE = 50
const PAGES_MAX = 64

/** A due webhook, and what it waits for; none for a challenge. */
interface Look {
  readonly webhook: Webhook
  readonly scan: Scan | undefined
  readonly isReady: boolean
  /** There is more of the feed than one look reads. */
  readonly isBehind: boolean
}

/**
 * Pushes the feed to webhooks. One process at a time should; two charge no event twice, but may
 * both send it.
 */
export class Delivery {
  readonly #deps: DeliveryDeps & DeliverDeps
  readonly #underWay = new Map<
    string,
    { readonly webhook: Webhook; readonly done: Promise<void> }
  >()
  readonly #ending = new AbortController()
  readonly #filters = new LRUCache<string, { readonly filter: Filter | undefined }>({
    max: DUE_MAX,
  })
  #movedMs = Number.NEGATIVE_INFINITY

  constructor(deps: DeliveryDeps) {
    this.#deps = { ...deps, signal: this.#ending.signal }
  }

  /** Starts to send what is due; does not wait for receivers. */
  async pass(): Promise<void> {
    const { accounts, clock, callersOf } = this.#deps
    const nowMs = clock()
    const isTime = Math.abs(nowMs - this.#movedMs) >= MOVE_EVERY_MS
    if (isTime) {
      this.#movedMs = nowMs
      await followKeys(accounts, unixNow(clock))
    }
    const found = await dueWebhooks({ run: accounts.read }, { nowMs, limit: DUE_MAX })
    const looks = await this.#look(found.filter(({ id }) => !this.#underWay.has(id)))
    const turns = takeTurns(
      looks.filter(({ isReady }) => isReady),
      [...this.#underWay.values()],
    )
    const callers = await callersOf([...new Set(turns.map(({ webhook }) => webhook.publicId))])
    for (const look of turns) this.#start(look, callers)
    const isFull = found.length === DUE_MAX
    const rest = looks.filter(({ webhook }) => !this.#underWay.has(webhook.id))
    await this.#store(rest.filter((look) => isFull || isWorth(look, isTime)))
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0)
      await Promise.allSettled([...this.#underWay.values()].map(({ done }) => done))
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.settled()
  }

  async #look(due: readonly Webhook[]): Promise<readonly Look[]> {
    const read = this.#openFeed()
    const looks: Look[] = []
    const startedMs = performance.now()
    for (const webhook of due.toSorted((a, b) => nearness(b) - nearness(a))) {
      if (performance.now() - startedMs > LOOK_MS) break
      const filter = this.#filterOf(webhook)
      if (mayBeChallenged(webhook))
        looks.push({ webhook, scan: undefined, isReady: true, isBehind: false })
      else if (filter === undefined) await this.#disable(webhook)
      else {
        const scan = new Scan(read, filter, webhook)
        const { kind } = await scan.find()
        const isLow = webhook.lowUnix !== null && !webhook.isLowTold
        const isBehind = kind === 'behind'
        looks.push({ webhook, scan, isReady: isLow || !(isBehind || kind === 'end'), isBehind })
      }
    }
    return looks
  }

  /** The file no longer has the token or chain of its filter. */
  async #disable(webhook: Webhook): Promise<void> {
    const { accounts, clock } = this.#deps
    const reason = 'filter_not_served'
    const seen = { answer: reason, answerUnix: unixNow(clock) }
    const changes = { state: 'disabled', reason, dueMs: null, ...seen } as const
    await accounts.write((connection) => changeWebhook(connection, webhook, changes))
  }

  #filterOf({ filter: text }: Webhook): Filter | undefined {
    const known = this.#filters.get(text)
    const { filter } = known ?? { filter: readFilter(this.#deps.ecosystem, text) }
    if (known === undefined) this.#filters.set(text, { filter })
    return filter
  }

  /** Opens the feed for a pass; other work has turns between pages. */
  #openFeed(): ReadFeed {
    const { register } = this.#deps
    const pages = new LRUCache<string, Promise<ShownPage>>({ max: PAGES_MAX })
    return (cursor, finality) => {
      const key = `${finality} ${showCursor(cursor)}`
      const page =
        pages.get(key) ??
        nextTurn().then(() =>
          register.snapshot((reads) =>
            readShown(reads, this.#deps, { cursor, finality, limit: PAGE }),
          ),
        )
      pages.set(key, page)
      return page
    }
  }

  /** Passes what does not match; who was looked at is behind who was not. */
  async #store(looks: readonly Look[]): Promise<void> {
    const { accounts, clock } = this.#deps
    const nowMs = clock()
    for (let from = 0; from < looks.length; from += STORED_AT_ONCE)
      await accounts.write(async (connection) => {
        for (const { webhook, scan } of looks.slice(from, from + STORED_AT_ONCE))
          await passUnmatched(connection, webhook, { at: scan?.at, nowMs })
      })
  }

  #start({ webhook, scan }: Look, callers: Callers): void {
    const done = this.#serve(webhook, scan, callers)
      .catch((error: unknown) => this.#deps.report(error))
      .finally(() => this.#underWay.delete(webhook.id))
    this.#underWay.set(webhook.id, { webhook, done })
  }

  async #serve(webhook: Webhook, scan: Scan | undefined, callers: Callers): Promise<void> {
    const caller = callers.get(webhook.publicId)
    if (caller === undefined) return
    if (scan === undefined) await challengeWebhook(this.#deps, webhook)
    else {
      const startedMs = performance.now()
      let own: Webhook | undefined = webhook
      while (own !== undefined && performance.now() - startedMs <= TURN_MS)
        own = await deliverNext(this.#deps, { webhook: own, caller, scan })
    }
  }
}

/** Challenges first, then who has least of the feed to read. */
function nearness(webhook: Webhook): number {
  if (mayBeChallenged(webhook)) return Number.MAX_SAFE_INTEGER
  return parseCursor(webhook.cursor ?? '')?.sequence ?? 0
}

/** Whether its progress is stored now. */
function isWorth({ webhook, scan, isReady, isBehind }: Look, isTime: boolean): boolean {
  if (isReady || scan?.at === undefined) return false
  return isBehind || (isTime && showCursor(scan.at.cursor) !== webhook.cursor)
}
