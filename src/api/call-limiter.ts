import type { Call } from '#api/http/call.ts'
import { oncePerContext } from '#context.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { CUT } from './failure.ts'

/** A page that asks thirty questions at once does not notice; a thousand heavy ones leave room for others. */
const AT_ONCE_MAX = 4

/** A load test has a thousand connections from one address; more calls would only fill memory. */
const WAITING_MAX = 1_000

type Client = Pick<Call, 'isCut'>

interface Waiting {
  readonly client: Client
  /** False: its connection is cut. */
  end(isOpen: boolean): void
}

/** Limits the calls of one bucket that work at once, so that the next one sees what the last one cost. */
export class CallLimiter {
  readonly #working = new Map<string, number>()
  readonly #waiting = new Map<string, Waiting[]>()

  /** Undefined if a slot is free; else resolves once one is, to false if the connection is cut. */
  acquire(bucket: string, client: Client): Promise<boolean> | 'full' | undefined {
    const working = this.#working.get(bucket) ?? 0
    if (working < AT_ONCE_MAX) {
      this.#working.set(bucket, working + 1)
      return undefined
    }
    const line = this.#waiting.get(bucket) ?? []
    if (line.length >= WAITING_MAX) removeCut(line)
    if (line.length >= WAITING_MAX) return 'full'
    this.#waiting.set(bucket, line)
    return new Promise((resolve) => line.push({ client, end: resolve }))
  }

  /** Hands the slot to the next call whose connection is open. */
  release(bucket: string): void {
    const line = this.#waiting.get(bucket)
    let next = line?.shift()
    for (; next?.client.isCut(); next = line?.shift()) next.end(false)
    if (line?.length === 0) this.#waiting.delete(bucket)
    const working = (this.#working.get(bucket) ?? 0) - 1
    if (next !== undefined) next.end(true)
    else if (working > 0) this.#working.set(bucket, working)
    else this.#working.delete(bucket)
  }
}

export const callLimiter = oncePerContext(() => new CallLimiter())

/** A listener for each waiting call would cost more than the call. */
function removeCut(line: Waiting[]): void {
  for (const waiting of line.splice(0))
    if (waiting.client.isCut()) waiting.end(false)
    else line.push(waiting)
}

/** The turn of one call. */
export class Slot {
  readonly #limiter: CallLimiter
  readonly #bucket: string
  readonly #client: Client
  #isHeld = false

  constructor(limiter: CallLimiter, bucket: string, client: Client) {
    this.#limiter = limiter
    this.#bucket = bucket
    this.#client = client
  }

  /** A refusal where the call cannot or need not be answered. */
  async take(): Promise<Refusal | undefined> {
    const waiting = this.#limiter.acquire(this.#bucket, this.#client)
    if (waiting === 'full') return FULL
    this.#isHeld = waiting === undefined || (await waiting)
    return this.#client.isCut() ? CUT : undefined
  }

  release(): void {
    if (this.#isHeld) this.#limiter.release(this.#bucket)
    this.#isHeld = false
  }
}

const FULL = refuse('rate_limited', 'too many calls wait at once; send fewer in parallel', {
  retryAfterSeconds: 1,
})
