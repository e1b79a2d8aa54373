import { GroupCommit } from '#access/meter/group-commit.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { LeaseLostError } from '#jobs/leader.ts'
import type { SigningKeys } from '#lib/signing-keys.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { challengeWebhook } from './challenge.ts'
import type { KeyedCaller } from './charge-events.ts'
import { copyFeed } from './copy-feed.ts'
import { type DrainDeps, drainWebhook } from './drain-webhook.ts'
import { tellLowBalances } from './low-balance.ts'
import type { PostDeps } from './post-event.ts'
import { type Settlement, settleEvents } from './settle-events.ts'
import { TurnTable } from './turn-table.ts'
import type { Webhook } from './webhook.ts'
import { dueWebhooks, removeWebhook } from './webhook-store.ts'

export interface DelivererDeps extends PostDeps {
  readonly register: Engine
  /** The leader's. */
  readonly accounts: Engine
  isLeading(): boolean
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
  readonly keys: Pick<SigningKeys, 'sign'>
  /** Of each key who pays, by its newest rotation; absent once revoked, `expired` until prolonged. */
  callersOf(publicIds: readonly string[]): Promise<ReadonlyMap<string, KeyedCaller | 'expired'>>
  /** Unique for ever. */
  readonly holder: string
  random(): number
  report(error: unknown): void
}

/** Of one look; the rest is due in the next. */
const DUE_MAX = 2_000

/** Of the feed; then what is due has its turn. */
const PAGES_MAX = 20

const LOW_BALANCE_EVERY_MS = 5_000

interface Waiting {
  readonly settlement: Settlement
  resolve(): void
  reject(error: unknown): void
}

/** Sends events to webhooks. */
export class Deliverer {
  readonly #deps: DelivererDeps
  readonly #turns = new TurnTable()
  readonly #ending = new AbortController()
  readonly #settling: GroupCommit<Waiting>
  #batches = 0
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: DelivererDeps) {
    this.#deps = deps
    this.#settling = new GroupCommit({ decide: (batch) => this.#settle(batch) })
  }

  /** Queues what the feed has, and starts to send what is due. Does not wait for receivers. */
  async pass(): Promise<void> {
    const { register, accounts, ecosystem, clock } = this.#deps
    const copying = { register, accounts, ecosystem, clock, write: this.#write }
    try {
      for (let page = 0; page < PAGES_MAX && (await copyFeed(copying)); page += 1);
      await this.#tellLowBalances()
    } finally {
      await this.#startDue()
    }
  }

  /** Once nothing is under way. */
  settled(): Promise<void> {
    return this.#turns.empty()
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.settled()
  }

  #write = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    this.#deps.accounts.write(work)

  async #tellLowBalances(): Promise<void> {
    const nowMs = this.#deps.clock()
    if (Math.abs(nowMs - this.#lookedAtMs) < LOW_BALANCE_EVERY_MS) return
    this.#lookedAtMs = nowMs
    await tellLowBalances({ ...this.#deps, write: this.#write })
  }

  async #startDue(): Promise<void> {
    const { accounts, clock } = this.#deps
    const reads = { run: accounts.read }
    const found = await dueWebhooks(reads, { nowMs: clock(), limit: DUE_MAX })
    const due = found.filter(({ id }) => !this.#turns.has(id))
    if (due.length === 0) return
    const callers = await this.#deps.callersOf([...new Set(due.map(({ publicId }) => publicId))])
    // Healthy ones first.
    for (const webhook of due.toSorted((a, b) => Number(a.attempts > 0) - Number(b.attempts > 0))) {
      const caller = callers.get(webhook.publicId)
      const owner = typeof caller === 'object' ? caller.wallet : webhook.publicId
      this.#turns.start({ webhook, owner }, async () => {
        try {
          await this.#serve(webhook, caller)
        } catch (error) {
          if (!(error instanceof LeaseLostError)) this.#deps.report(error)
        }
      })
    }
  }

  async #serve(webhook: Webhook, caller: KeyedCaller | 'expired' | undefined): Promise<void> {
    const deps: DrainDeps = {
      ...this.#deps,
      signal: this.#ending.signal,
      write: this.#write,
      settle: (settlement) => this.#add(settlement),
    }
    if (webhook.state === 'ended' || caller === undefined)
      return this.#write((connection) => removeWebhook(connection, webhook.id))
    if (caller === 'expired')
      return this.#add({ kind: 'unpaid', webhook, answer: 'invalid_api_key' })
    if (webhook.state === 'verifying') return challengeWebhook(deps, webhook)
    if (webhook.state === 'active') return drainWebhook(deps, { webhook, caller })
    return this.#add({ kind: 'empty', webhook })
  }

  #add(settlement: Settlement): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#settling.add({ settlement, resolve, reject }))
        reject(new Error('too many deliveries wait for the accounts store'))
    })
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    const { clock, pricePerCall, random, holder: meter } = this.#deps
    const nextBatch = () => {
      this.#batches += 1
      return { meter, number: this.#batches }
    }
    const settlements = batch.map(({ settlement }) => settlement)
    try {
      await this.#write((connection) =>
        settleEvents(connection, { clock, pricePerCall, random, nextBatch }, settlements),
      )
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
