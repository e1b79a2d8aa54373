import { LRUCache } from 'lru-cache'
import { type Key, newestKeys } from '#accounts/keys/key-store.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { showCursor } from '#chains/indexer/feed/cursor.ts'
import { readOtherParts } from '#chains/indexer/indexed-config/tables.ts'
import { unixNow } from '#lib/time.ts'
import { SharedPages } from '#serving/stream/feed-hub.ts'
import type { Filter } from '#serving/stream/stream-parameters.ts'
import type { Engine } from '#store/engine.ts'
import type { WebhookCallers } from './charge-event.ts'
import { type DeliverDeps, deliverNext } from './deliver-next.ts'
import { FeedScan, storedPosition } from './scan.ts'
import type { Webhook } from './webhook.ts'
import { readFilter } from './webhook-filter.ts'
import { changeWebhook, dueWebhooks } from './webhook-store.ts'

export interface DeliveryDeps extends Omit<DeliverDeps, 'signal'> {
  /** Returns who pays for each key: its newest rotation. */
  callersOf(publicIds: readonly string[]): Promise<WebhookCallers>
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

/** A due webhook, and what it waits for. */
interface Look {
  readonly webhook: Webhook
  readonly scan: FeedScan
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
  readonly #pages: SharedPages
  readonly #filters = new LRUCache<string, { readonly filter: Filter | undefined }>({
    max: DUE_MAX,
    memoMethod: (text) => ({ filter: readFilter(this.#deps.ecosystem, text) }),
  })
  #movedMs = Number.NEGATIVE_INFINITY

  constructor(deps: DeliveryDeps) {
    this.#deps = { ...deps, signal: this.#ending.signal }
    this.#pages = new SharedPages(deps)
  }

  /** Starts to send what is due; does not wait for receivers. Throws while the file is another. */
  async pass(): Promise<void> {
    const { accounts, clock, callersOf } = this.#deps
    await this.#checkFile()
    const nowMs = clock()
    const due = () => dueWebhooks({ run: accounts.read }, { nowMs, limit: DUE_MAX })
    const isTime = Math.abs(nowMs - this.#movedMs) >= MOVE_EVERY_MS
    if (isTime) {
      this.#movedMs = nowMs
      await followKeys(accounts, await due(), unixNow(clock))
    }
    const found = await due()
    const waiting = found.filter(({ id }) => !this.#underWay.has(id))
    const looks = await this.#look(waiting)
    const ready = looks.filter(({ isReady }) => isReady)
    const turns = takeTurns(ready, [...this.#underWay.values()])
    const callers = await callersOf([...new Set(turns.map(({ webhook }) => webhook.publicId))])
    for (const look of turns) this.#start(look, callers)
    const areMore = found.length === DUE_MAX || looks.length < waiting.length
    const rest = looks.filter(({ webhook }) => !this.#underWay.has(webhook.id))
    await this.#store(rest.filter((look) => areMore || isWorth(look, isTime)))
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0)
      await Promise.allSettled([...this.#underWay.values()].map(({ done }) => done))
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.idle()
  }

  /** Otherwise what only the newer of two files knows would be passed in silence. */
  async #checkFile(): Promise<void> {
    const { register, ecosystem } = this.#deps
    const file = filePartsOf(ecosystem)
    const other = await register.snapshot((reads) => readOtherParts(reads, file))
    const fields = other.flatMap((part) => part.fields)
    if (fields.length > 0)
      throw new Error(`the register is built from another ecosystem file: ${fields.join(', ')}`)
  }

  async #look(due: readonly Webhook[]): Promise<readonly Look[]> {
    this.#pages.clear()
    const looks: Look[] = []
    const startedMs = performance.now()
    for (const webhook of due) {
      if (performance.now() - startedMs > LOOK_MS) break
      const { filter } = this.#filters.memo(webhook.filter)
      if (filter === undefined) await this.#disable(webhook)
      else {
        const scan = new FeedScan(this.#pages, filter, webhook)
        const { kind } = await scan.find()
        const isBehind = kind === 'behind'
        looks.push({ webhook, scan, isReady: !isBehind && kind !== 'end', isBehind })
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

  /** Passes what does not match; who was looked at is behind who was not. */
  async #store(looks: readonly Look[]): Promise<void> {
    const { accounts, clock } = this.#deps
    for (let from = 0; from < looks.length; from += STORED_AT_ONCE)
      await accounts.write(async (connection) => {
        for (const { webhook, scan } of looks.slice(from, from + STORED_AT_ONCE)) {
          const passed = scan.at && storedPosition(scan.at)
          await changeWebhook(connection, webhook, { ...passed, dueMs: clock() })
        }
      })
  }

  #start({ webhook, scan }: Look, callers: WebhookCallers): void {
    const done = this.#serve(webhook, scan, callers)
      .catch((error: unknown) => this.#deps.report(error))
      .finally(() => this.#underWay.delete(webhook.id))
    this.#underWay.set(webhook.id, { webhook, done })
  }

  async #serve(webhook: Webhook, scan: FeedScan, callers: WebhookCallers): Promise<void> {
    const caller = callers.get(webhook.publicId)
    if (caller === undefined) return
    const startedMs = performance.now()
    let own: Webhook | undefined = webhook
    while (own !== undefined && performance.now() - startedMs <= TURN_MS)
      own = await deliverNext(this.#deps, { webhook: own, caller, scan })
  }
}

/** Whether its progress is stored now. */
function isWorth({ webhook, scan, isReady, isBehind }: Look, isTime: boolean): boolean {
  if (isReady || scan.at === undefined) return false
  return isBehind || (isTime && showCursor(scan.at.cursor) !== webhook.cursor)
}

/** Ends webhooks whose key's newest rotation is revoked or has expired. */
export async function followKeys(
  accounts: Engine,
  webhooks: readonly Webhook[],
  nowUnix: number,
): Promise<void> {
  const publicIds = webhooks.map(({ publicId }) => publicId)
  const keys = await newestKeys({ run: accounts.read }, [...new Set(publicIds)])
  const changed = webhooks.flatMap((webhook) => {
    const changes = changesOf(keys.get(webhook.publicId), nowUnix)
    return changes === undefined ? [] : [{ webhook, changes }]
  })
  if (changed.length === 0) return
  await accounts.write(async (connection) => {
    for (const { webhook, changes } of changed) await changeWebhook(connection, webhook, changes)
  })
}

function changesOf(key: Key | undefined, nowUnix: number): Partial<Webhook> | undefined {
  const isExpired = (key?.limits?.expiresUnix ?? nowUnix + 1) <= nowUnix
  if (key !== undefined && key.revokedUnix === null && !isExpired) return undefined
  const reason = key?.revokedUnix === null ? 'key_expired' : 'key_revoked'
  return { state: 'ended', reason, answer: reason, answerUnix: nowUnix, dueMs: null }
}

/** A request holds a socket and a few kilobytes. */
const REQUESTS_MAX = 512

/** Above this, only wallets without a request get one. */
const SHARED_MAX = 256

const PER_HOST_MAX = 8
const PER_WALLET_MAX = 8

interface Turn {
  readonly webhook: Pick<Webhook, 'url' | 'wallet'>
}

/**
 * Which of these, in their order, may be sent to now, so that no wallet and no host keeps the others
 * waiting.
 */
export function takeTurns<T extends Turn>(
  due: readonly T[],
  underWay: readonly Turn[],
): readonly T[] {
  const taken = new Map<string, number>()
  let total = 0
  const take = ({ webhook: { url, wallet } }: Turn) => {
    total += 1
    for (const name of [hostName(url), wallet]) taken.set(name, (taken.get(name) ?? 0) + 1)
  }
  const isFree = ({ webhook: { url, wallet } }: Turn) => {
    const ofWallet = taken.get(wallet) ?? 0
    const max = ofWallet === 0 ? REQUESTS_MAX : SHARED_MAX
    return (
      total < max && ofWallet < PER_WALLET_MAX && (taken.get(hostName(url)) ?? 0) < PER_HOST_MAX
    )
  }
  for (const each of underWay) take(each)
  return due.filter((each) => {
    if (!isFree(each)) return false
    take(each)
    return true
  })
}

function hostName(url: string): string {
  return `host ${new URL(url).hostname}`
}
