import type { Endpoint, HistoryAsk } from './endpoint.ts'
import { EndpointError } from './endpoint-error.ts'
import type { FetchedLogs } from './logs-fetcher.ts'
import type { Timing } from './timing.ts'

/** A request is late after twice the time that nearly all others took, but not before. */
const LATE_MS_MIN = 500

/** Fewer answers say nothing about what is late. */
const SAMPLES_MIN = 5

/** At most one request in twenty is asked twice, but the first late one always may be. */
const SHARE_MAX = 0.05

/** An answer, and whose it is. */
export interface Answered extends Omit<FetchedLogs, 'wireBytes'> {
  readonly endpoint: Endpoint
}

export interface HedgedAsk extends HistoryAsk {
  readonly first: Endpoint
  /** Whom to ask too when the first is late. */
  second(): Endpoint | undefined
}

/** Asks once more for what is late; counts how often, for all histories of a source. */
export class Hedge {
  readonly #timing: Timing
  #asked = 0
  #hedged = 0

  constructor(timing: Timing) {
    this.#timing = timing
  }

  /**
   * The first answer that can be read wins and the other request ends; when both fail, the error of
   * the one that failed first is thrown.
   */
  ask(ask: HedgedAsk): Promise<Answered> {
    this.#asked += 1
    const over = new AbortController()
    const signal = ask.signal ? AbortSignal.any([ask.signal, over.signal]) : over.signal
    const { promise, resolve, reject } = Promise.withResolvers<Answered>()
    const errors: unknown[] = []
    let pending = 0
    const send = (endpoint: Endpoint, onSent: () => void) => {
      pending += 1
      askOnce(endpoint, { ...ask, signal, onSent }).then(resolve, (error: unknown) => {
        errors.push(error)
        pending -= 1
        if (pending === 0) reject(errors[0])
      })
    }
    const lateMs = lateAfterMs(ask.first)
    send(ask.first, () => {
      if (lateMs === undefined) return
      void this.#timing.sleep(lateMs, over.signal).then(() => {
        const endpoint = over.signal.aborted ? undefined : this.#spare(ask)
        if (endpoint !== undefined) send(endpoint, () => {})
      })
    })
    return promise.finally(() => over.abort())
  }

  #spare({ second }: Pick<HedgedAsk, 'second'>): Endpoint | undefined {
    if (this.#hedged >= Math.max(1, Math.floor(this.#asked * SHARE_MAX))) return undefined
    const endpoint = second()
    if (!endpoint?.pace.hasRoom) return undefined
    this.#hedged += 1
    endpoint.countHedge()
    return endpoint
  }
}

async function askOnce(endpoint: Endpoint, ask: HistoryAsk): Promise<Answered> {
  const answer = await endpoint.history(ask)
  if (ask.signal?.aborted) throw new EndpointError('aborted', 'no longer wanted')
  return { endpoint, ...answer }
}

function lateAfterMs({ historyLatency }: Endpoint): number | undefined {
  const p95Ms = historyLatency.p95Ms()
  if (p95Ms === null || historyLatency.size < SAMPLES_MIN) return undefined
  return Math.max(LATE_MS_MIN, 2 * p95Ms)
}
