import type { Incoming } from '#api/http/exchange.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Route } from '#route/route.ts'
import { CUT } from './failure.ts'

/** A page that asks thirty questions at once does not notice; a thousand heavy ones leave room for others. */
const AT_ONCE_MAX = 4

/** A load test has a thousand connections from one address; more calls would only fill memory. */
const WAITING_MAX = 1_000

interface Waiting {
  readonly client: Pick<Incoming, 'isCut'>
  /** False: its connection is cut. */
  end(isOpen: boolean): void
}

/** Limits the calls of one bucket that work at once; the others wait in order. */
export class CallLimiter {
  readonly #working = new Map<string, number>()
  readonly #waiting = new Map<string, Waiting[]>()

  /** Undefined if a slot is free; else resolves once one is, to false if the connection is cut. */
  acquire(bucket: string, client: Pick<Incoming, 'isCut'>): Promise<boolean> | 'full' | undefined {
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
    // A client that half-closes may still read.
    for (; next?.client.isCut(); next = line?.shift()) next.end(false)
    if (line?.length === 0) this.#waiting.delete(bucket)
    const working = (this.#working.get(bucket) ?? 0) - 1
    if (next !== undefined) next.end(true)
    else if (working > 0) this.#working.set(bucket, working)
    else this.#working.delete(bucket)
  }
}

/** A listener for each waiting call would cost more than the call. */
function removeCut(line: Waiting[]): void {
  for (const waiting of line.splice(0))
    if (waiting.client.isCut()) waiting.end(false)
    else line.push(waiting)
}

interface LimiterDeps {
  readonly limiter: CallLimiter
}

interface LimitedCall {
  readonly route: Route
  readonly incoming: Incoming
  readonly caller: Caller
  /** Bucket whose slot it holds. */
  slotOf: string | undefined
}

/** Keeps a caller's calls from all working at once, so that the next one sees what the last one cost. */
export function acquireSlot(
  { limiter }: LimiterDeps,
  call: LimitedCall,
): Promise<Refusal | undefined> | Refusal | undefined {
  const { route, incoming, caller } = call
  if (!route.metered) return undefined
  const { bucket } = caller
  const waiting = limiter.acquire(bucket, incoming)
  if (waiting === 'full') return FULL
  if (waiting === undefined) {
    call.slotOf = bucket
    return undefined
  }
  return waiting.then((isOpen) => {
    if (isOpen) call.slotOf = bucket
    return incoming.isCut() ? CUT : undefined
  })
}

const FULL = refuse('rate_limited', 'too many calls wait at once; send fewer in parallel', {
  retryAfterSeconds: 1,
})

export function releaseSlot({ limiter }: LimiterDeps, call: LimitedCall): void {
  const { slotOf } = call
  if (slotOf === undefined) return
  call.slotOf = undefined
  limiter.release(slotOf)
}
