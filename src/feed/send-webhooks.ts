import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { lockSuccessor, newestKeys, writeOrRefuse } from '#accounts/keys/key-store.ts'
import { type KeyedCaller, keyedCaller } from '#accounts/metering/callers.ts'
import { admitWithin, canPay } from '#accounts/metering/meter/meter.ts'
import { readAllowance } from '#accounts/metering/tier.ts'
import { isRefusal, refuse } from '#base/refusal.ts'
import { type Clock, toIso, unixNow } from '#base/time.ts'
import { type Context, reportError } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { matches, RESET_OF_ALL, type ShownItem } from '#feed/feed-rows.ts'
import { SharedPages } from '#feed/follow-feed.ts'
import type { Filter } from '#feed/stream-parameters.ts'
import { type FeedCursor, parseCursor, readEnd, showCursor } from '#index/feed.ts'
import { LeadLostError } from '#index/leader.ts'
import { type PostResult, postEvent } from './post-event.ts'
import { readFilter } from './webhook-routes.ts'
import {
  AT_ONCE,
  changeWebhook,
  dueWebhooks,
  findWebhook,
  removeWebhooks,
  type Webhook,
} from './webhook-store.ts'

/** Webhooks read per pass; the next pass continues with those that follow. */
const LOOKED_AT_MAX = 2_000

/** Time limit for reading the feed in a pass. */
const LOOK_MS = 500

/** Interval at which webhooks of revoked keys are removed, and idle cursors are stored. */
const UPKEEP_MS = 5_000

/** Each request holds a socket and a few kilobytes. */
const REQUESTS_MAX = 512
const PER_WALLET_MAX = 4

/** After this, the host's next webhook gets its turn. */
const TURN_MS = 1_000

/** After this, the host's waiting webhooks are read again. */
const HOST_TURN_MS = 5_000

/** Retry delay while the owner has neither quota nor balance. */
const UNPAID_RETRY_MS = 60_000

/** Back-off after failures; the last one repeats. */
const DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000]
const DELAY_MAX_MS = 6 * 3_600_000

/** Spreads the retries of webhooks that failed together. */
const JITTER = 0.2

/** A webhook that fails this long without a delivery is disabled. */
const FAILING_MAX_SECONDS = 5 * 86_400

/**
 * Sends the feed to webhooks: one request at a time per host. Run it in one process: two would charge an event once,
 * but might both send it.
 */
export class WebhookSender {
  readonly #ctx: Context
  readonly #pages: SharedPages
  readonly #filters: LRUCache<string, { readonly filter: Filter | undefined }>
  readonly #hosts = new Map<string, Promise<void>>()
  /** Wallets of webhooks that are being sent now. */
  readonly #serving: string[] = []
  readonly #ending = new AbortController()
  #afterId = ''
  #isUpkeep = false
  #upkeepMs = Number.NEGATIVE_INFINITY

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#pages = new SharedPages(ctx)
    this.#filters = new LRUCache({
      max: LOOKED_AT_MAX,
      memoMethod: (text) => ({ filter: readFilter(ctx.ecosystem, text) }),
    })
  }

  /** Starts sending what is due, without waiting for receivers. */
  async pass(): Promise<void> {
    const { accounts, clock } = this.#ctx
    const nowMs = clock()
    if (this.#afterId === '') {
      this.#isUpkeep = Math.abs(nowMs - this.#upkeepMs) >= UPKEEP_MS
      if (this.#isUpkeep) this.#upkeepMs = nowMs
    }
    const page = { nowMs, afterId: this.#afterId, limit: LOOKED_AT_MAX }
    const due = await dueWebhooks({ run: accounts.read }, page)
    if (this.#isUpkeep) await removeRevoked(this.#ctx, due)
    const ready = await this.#look(due)
    if (due.length < LOOKED_AT_MAX && this.#afterId === due.at(-1)?.id) this.#afterId = ''
    const longestFirst = ready.toSorted((a, b) => (a.answerUnix ?? 0) - (b.answerUnix ?? 0))
    for (const [host, own] of Map.groupBy(longestFirst, ({ url }) => new URL(url).host))
      if (!this.#hosts.has(host) && this.#hosts.size < REQUESTS_MAX) this.#startHost(host, own)
  }

  /** Resolves once no request is in flight. */
  async idle(): Promise<void> {
    while (this.#hosts.size > 0) await Promise.all(this.#hosts.values())
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.idle()
  }

  /** Returns webhooks that have something to send, and stores the cursors of the others. */
  async #look(due: readonly Webhook[]): Promise<readonly Webhook[]> {
    const ready: Webhook[] = []
    const changed: [Webhook, Partial<Webhook>][] = []
    const startedMs = performance.now()
    this.#pages.clear()
    this.#afterId = ''
    for (const webhook of due) {
      if (performance.now() - startedMs > LOOK_MS) break
      this.#afterId = webhook.id
      const found = await this.#find(webhook)
      if (found === 'not served') changed.push([webhook, disabled(this.#ctx, 'filter_not_served')])
      else if (found === 'lost' || found.item !== undefined) ready.push(webhook)
      else if (found.isBehind || this.#isUpkeep) {
        const cursor = showCursor(found.at)
        if (cursor !== webhook.cursor) changed.push([webhook, { cursor }])
      }
    }
    if (changed.length > 0)
      await this.#ctx.accounts.write(async (tx) => {
        for (const [webhook, changes] of changed) await changeWebhook(tx, webhook, changes)
      })
    return ready
  }

  /** Reads the feed up to the webhook's next matching change, for at most `PAGES_MAX` pages. */
  async #find({ filter: text, cursor }: Webhook): Promise<Found> {
    const { filter } = this.#filters.memo(text)
    if (filter === undefined) return 'not served'
    let at = parseCursor(cursor)
    if (at === undefined) return 'lost'
    for (let count = 0; count < PAGES_MAX; count += 1) {
      const page = await this.#pages.page(at)
      if (page === 'lost') return page
      for (const item of page.items) {
        at = item.cursor
        // Skips `finalized` events: each row has its finality.
        if (item.change.op !== 'finalized' && matches(filter, item)) return { item, at }
      }
      if (page.items.length === 0) return { at: page.next }
    }
    return { at, isBehind: true }
  }

  #startHost(host: string, webhooks: readonly Webhook[]): void {
    const work = this.#serveHost(webhooks)
      .catch((error: unknown) => {
        if (!(error instanceof LeadLostError)) reportError(this.#ctx, error)
      })
      .finally(() => this.#hosts.delete(host))
    this.#hosts.set(host, work)
  }

  async #serveHost(webhooks: readonly Webhook[]): Promise<void> {
    const startedMs = performance.now()
    for (const { id, wallet } of webhooks) {
      if (performance.now() - startedMs > HOST_TURN_MS) return
      if (this.#serving.filter((each) => each === wallet).length >= PER_WALLET_MAX) continue
      this.#serving.push(wallet)
      try {
        await this.#serve(id)
      } finally {
        this.#serving.splice(this.#serving.indexOf(wallet), 1)
      }
    }
  }

  /** Sends a webhook's events, each after the one before was delivered. */
  async #serve(id: string): Promise<void> {
    const startedMs = performance.now()
    while (!this.#ending.signal.aborted && performance.now() - startedMs <= TURN_MS) {
      const webhook = await findWebhook({ run: this.#ctx.accounts.read }, id)
      if (webhook === undefined || !webhook.enabled) return
      if (!(await this.#sendNext(webhook))) return
    }
  }

  /** Returns whether an event was delivered. */
  async #sendNext(webhook: Webhook): Promise<boolean> {
    const { accounts, clock, config } = this.#ctx
    const event = await this.#nextEvent(webhook)
    if (event === undefined) return false
    const leave = async (changes: Partial<Webhook>) => {
      await accounts.write((tx) => changeWebhook(tx, webhook, changes))
      return false
    }
    const payer = await findPayer(this.#ctx, webhook.publicId)
    if (payer === undefined) return false
    if (!event.isFree) {
      const isPaid = await accounts.snapshot((reads) => canPay(this.#ctx, reads, payer))
      if (!isPaid) return leave(unpaid(this.#ctx))
    }
    const { signal } = this.#ending
    const allowPrivate = config.webhookPrivate
    const result = await postEvent({ ...signed(webhook, event, clock), signal, allowPrivate })
    if (result.kind === 'answered' && result.status >= 200 && result.status < 300)
      return this.#record(webhook, { event, payer, answer: String(result.status) })
    if (signal.aborted) return false
    return leave(failed(this.#ctx, webhook, result))
  }

  async #nextEvent(webhook: Webhook): Promise<WebhookEvent | undefined> {
    const { register } = this.#ctx
    const { id, cursor } = webhook
    const found = await this.#find(webhook)
    if (found === 'not served') return undefined
    if (found === 'lost') {
      const end = await register.snapshot(readEnd)
      if (end === undefined) return undefined
      return {
        id: `${id}-reset-${toEventId(cursor)}`,
        type: 'feed.reset',
        data: JSON.stringify(RESET_OF_ALL),
        isFree: true,
        cursor: showCursor(end),
      }
    }
    if (found.item === undefined) return undefined
    const { change, kind, json, cursor: own } = found.item
    const isFree = change.op === 'reset'
    const { timestamp } = change.event
    return {
      id: `${id}-${toEventId(showCursor(own))}`,
      type: isFree ? 'feed.reset' : `${kind}.${change.op}`,
      data: json ?? '{}',
      unix: timestamp > 0 ? timestamp : undefined,
      isFree,
      cursor: showCursor(found.at),
    }
  }

  /**
   * Charges a call and advances the webhook's cursor in one transaction. If the cursor has moved since, or the call
   * cannot be paid, the event comes again.
   */
  async #record(
    webhook: Webhook,
    { event, payer, answer }: { event: WebhookEvent; payer: KeyedCaller; answer: string },
  ): Promise<boolean> {
    const ctx = this.#ctx
    const changes = {
      cursor: event.cursor,
      ...AT_ONCE,
      delivered: webhook.delivered + 1,
      answer,
      answerUnix: unixNow(ctx.clock),
    }
    const moved = await writeOrRefuse(ctx.accounts, async (tx) => {
      const own = await changeWebhook(tx, webhook, changes)
      if (own === undefined || event.isFree || (await charge(ctx, tx, payer))) return own
      return refuse('quota_exceeded', 'the event cannot be paid')
    })
    if (!isRefusal(moved)) return moved !== undefined
    await ctx.accounts.write((tx) => changeWebhook(tx, webhook, unpaid(ctx)))
    return false
  }
}

interface WebhookEvent {
  /** The same at every attempt. */
  readonly id: string
  readonly type: string
  /** JSON. */
  readonly data: string
  /** Time of the event; defaults to now. */
  readonly unix?: number | undefined
  readonly isFree: boolean
  /** Where the webhook is once it is delivered. */
  readonly cursor: string
}

/** `lost`: the feed no longer holds the cursor. `not served`: the file no longer has the token or chain. */
type Found =
  | 'lost'
  | 'not served'
  | { readonly item?: ShownItem; readonly at: FeedCursor; readonly isBehind?: boolean }

/** Pages to read for one webhook before the next one. */
const PAGES_MAX = 20

/** Removes webhooks whose key is revoked, which nobody can list or pay for. */
async function removeRevoked({ accounts }: Context, webhooks: readonly Webhook[]): Promise<void> {
  const publicIds = webhooks.map(({ publicId }) => publicId)
  const keys = await newestKeys({ run: accounts.read }, [...new Set(publicIds)])
  const isRevoked = ({ publicId }: Webhook) => (keys.get(publicId)?.revokedUnix ?? null) !== null
  const ids = webhooks.filter(isRevoked).map(({ id }) => id)
  if (ids.length > 0) await accounts.write((tx) => removeWebhooks(tx, ids))
}

/** Returns the key's newest rotation, which pays; undefined once it is revoked or has expired. */
async function findPayer(ctx: Context, publicId: string): Promise<KeyedCaller | undefined> {
  const key = (await newestKeys({ run: ctx.accounts.read }, [publicId])).get(publicId)
  if (key === undefined || key.revokedUnix !== null) return undefined
  if ((key.limits?.expiresUnix ?? Number.POSITIVE_INFINITY) <= unixNow(ctx.clock)) return undefined
  return keyedCaller(ctx, key, await readAllowance(ctx, key.wallet))
}

/** Charges the newest rotation of the key; returns whether quota or balance paid. */
async function charge(ctx: Context, tx: Connection, payer: KeyedCaller): Promise<boolean> {
  const admission = await admitWithin(ctx, tx, payer, async () => ({
    key: await lockSuccessor(tx, payer.publicId),
  }))
  return admission?.kind === 'admitted'
}

/** Signs as Standard Webhooks 1.0.0, symmetric (`v1`). The body has the webhook's id, so that it cannot pass for another's. */
function signed({ id: webhookId, url, secret }: Webhook, event: WebhookEvent, clock: Clock) {
  const { id, type, data } = event
  const unix = unixNow(clock)
  const facts = JSON.stringify({ type, timestamp: toIso(event.unix ?? unix), webhookId, url })
  const payload = `${facts.slice(0, -1)},"data":${data}}`
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${id}.${unix}.${payload}`
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(unix),
    'webhook-signature': `v1,${createHmac('sha256', key).update(content).digest('base64')}`,
  }
  return { url, payload, headers }
}

/** Replaces dots, because Standard Webhooks signs `id.timestamp.payload`. */
function toEventId(cursor: string): string {
  return cursor.replaceAll('.', '-')
}

/** Waits without counting a failure. */
function unpaid({ clock }: Context): Partial<Webhook> {
  const dueMs = clock() + UNPAID_RETRY_MS
  return { ...AT_ONCE, answer: 'payment_required', answerUnix: unixNow(clock), dueMs }
}

function disabled({ clock }: Context, reason: string): Partial<Webhook> {
  return { enabled: false, reason, answerUnix: unixNow(clock) }
}

/** Plans the retry, no earlier than the receiver asked. */
function failed(ctx: Context, { attempts, ...webhook }: Webhook, result: PostResult) {
  const isAnswered = result.kind === 'answered'
  const answer = isAnswered ? String(result.status) : result.reason
  const answerUnix = unixNow(ctx.clock)
  const failingUnix = webhook.failingUnix ?? answerUnix
  if (answer === '410') return { answer, ...disabled(ctx, 'gone') }
  if (answerUnix - failingUnix >= FAILING_MAX_SECONDS)
    return { answer, ...disabled(ctx, 'failing') }
  const wantedMs = (isAnswered && result.retryAfterMs) || 0
  const delayMs = Math.min(Math.max(DELAYS_MS[attempts] ?? DELAY_MAX_MS, wantedMs), DELAY_MAX_MS)
  const dueMs = ctx.clock() + Math.round(delayMs * (1 + JITTER * Math.random()))
  return { answer, answerUnix, attempts: attempts + 1, failingUnix, dueMs }
}
