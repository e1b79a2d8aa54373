import { setMaxListeners } from 'node:events'
import { EndpointError, RpcError } from '#chains/chain/rpc-error.ts'
import type { HistoryPart, HistoryRequest } from '../chain-source.ts'
import type { LogColumns } from '../columns/log-columns.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import type { LogsFetcher } from './logs-fetcher.ts'
import { type QueuedRange, RangeQueue } from './range-queue.ts'
import { RangeSizer } from './range-sizer.ts'

/** `RateLimiter` decides below it. */
const AHEAD_MAX = 16

/** Four full responses. */
const AHEAD_BYTES_MAX = 24_000_000

/** There is a back-off between tries. */
const TRIES_MAX = 10

interface HistoryStreamDeps {
  readonly pool: EndpointPool
  readonly fetcher: LogsFetcher
}

export async function* streamHistory(
  deps: HistoryStreamDeps,
  request: HistoryRequest,
): AsyncGenerator<HistoryPart> {
  const stream = new HistoryStream(deps, request)
  try {
    await deps.pool.inOrder()
    for (;;) {
      const part = await stream.next()
      if (part === undefined) return
      yield part
    }
  } finally {
    stream.stop()
  }
}

class HistoryStream {
  readonly #deps: HistoryStreamDeps
  readonly #request: HistoryRequest
  readonly #queue: RangeQueue
  readonly #sizer = new RangeSizer()
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #failure: { readonly error: unknown } | undefined
  #isRefreshing = false
  #wake = () => {}
  #inUse: LogColumns | undefined

  constructor(deps: HistoryStreamDeps, request: HistoryRequest) {
    this.#deps = deps
    this.#request = request
    this.#queue = new RangeQueue(request.from, request.to)
    const { signal } = request
    this.#signal = signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal
    setMaxListeners(0, this.#signal)
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Undefined at the end. Throws if the consumer aborts. */
  async next(): Promise<HistoryPart | undefined> {
    for (;;) {
      this.#request.signal?.throwIfAborted()
      const done = this.#queue.handOut()
      if (done !== undefined) this.#recycle(done.columns)
      this.#askAhead()
      if (done !== undefined) return done
      if (this.#failure) throw this.#failure.error
      if (this.#queue.isEmpty) return undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  /** Asking for more means being done with the previous part. */
  #recycle(next: LogColumns): void {
    if (this.#inUse !== undefined) this.#deps.fetcher.release(this.#inUse)
    this.#inUse = next
  }

  #askAhead(): void {
    while (!this.#failure && !this.#isRefreshing && !this.#signal.aborted) {
      const wanted = this.#queue.peek()
      if (wanted === undefined) return
      const size = this.#sizer.blocks()
      const to = Math.min(wanted.to, wanted.from + size - 1)
      const endpoint = this.#deps.pool.forHistory(to, wanted.avoid)
      if (endpoint === undefined) this.#findEndpoint(to)
      if (endpoint === undefined || !this.#hasRoom(endpoint)) return
      const piece = this.#queue.take(Math.min(size, endpoint.rangeMax ?? size))
      if (piece === undefined) return
      void this.#ask(piece, endpoint)
    }
  }

  #hasRoom({ limiter, rangeMax }: Endpoint): boolean {
    const { asked, answered, answeredBytes, isFirstWaiting } = this.#queue
    if (asked >= Math.min(limiter.limit, this.#request.atOnceMax ?? AHEAD_MAX)) return false
    if (asked > 0 && this.#sizer.isFeelingItsWay(rangeMax)) return false
    // The stream would stall without what the consumer waits for.
    if (isFirstWaiting) return true
    const expected = (asked + 1) * this.#sizer.bytesExpected(rangeMax)
    return asked + answered < AHEAD_MAX && answeredBytes + expected <= AHEAD_BYTES_MAX
  }

  #findEndpoint(to: number): void {
    this.#isRefreshing = true
    void this.#lookFurther(to)
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#isRefreshing = false
        this.#wake()
      })
  }

  async #lookFurther(to: number): Promise<void> {
    const { pool } = this.#deps
    await pool.refresh()
    await pool.inOrder()
    if (pool.forHistory(to, new Set()) === undefined)
      throw new RpcError(`no endpoint knows block ${to}`)
  }

  async #ask(piece: QueuedRange, endpoint: Endpoint): Promise<void> {
    const { from, to } = piece
    const { filter } = this.#request
    try {
      const { columns, end } = await endpoint.history({ from, to, filter, signal: this.#signal })
      this.#sizer.answered(to - from + 1, columns.body.byteLength)
      this.#queue.answer(piece, { from, to, columns, end, host: endpoint.host })
    } catch (error) {
      if (this.#signal.aborted) return this.#wake()
      this.#askAgain(piece, endpoint, error)
    }
    this.#wake()
    this.#askAhead()
  }

  #askAgain(piece: QueuedRange, failed: Endpoint, error: unknown): void {
    const blocks = piece.to - piece.from + 1
    const plan = retryPlanFor(error)
    const isHopeless = piece.avoid.has(failed) && !plan.waits
    if (!(error instanceof RpcError) || piece.tries >= TRIES_MAX || (isHopeless && blocks === 1)) {
      this.#failure ??= { error }
      return
    }
    if (plan.isSize) this.#sizer.refused(blocks, limitsOf(error))
    const { blocksMax, blocksThatFit } = limitsOf(error)
    const avoided = plan.isElsewhere || blocks === 1 ? failed : undefined
    const namesLimit = (blocksMax ?? blocksThatFit) !== undefined
    if (!plan.isSmaller || namesLimit || blocks === 1) this.#queue.putBack(piece, avoided)
    else this.#queue.halve(piece, avoided)
  }
}

function limitsOf(error: RpcError): Pick<EndpointError, 'blocksMax' | 'blocksThatFit'> {
  if (error instanceof EndpointError) return error
  return { blocksMax: undefined, blocksThatFit: undefined }
}

interface RetryPlan {
  readonly isSize: boolean
  readonly isSmaller: boolean
  readonly isElsewhere: boolean
  readonly waits: boolean
}

const SMALLER: RetryPlan = { isSize: true, isSmaller: true, isElsewhere: false, waits: false }
const LATER: RetryPlan = { isSize: false, isSmaller: false, isElsewhere: false, waits: true }
const ELSEWHERE: RetryPlan = { isSize: false, isSmaller: false, isElsewhere: true, waits: false }

function retryPlanFor(error: unknown): RetryPlan {
  if (!(error instanceof EndpointError)) {
    const tooLarge = error instanceof RpcError && error.tooLarge
    return { isSize: tooLarge, isSmaller: true, isElsewhere: !tooLarge, waits: false }
  }
  switch (error.kind) {
    case 'too-large':
    case 'timeout':
    // Most likely the size.
    case 'refused':
    case 'reverted':
    case 'no-method':
      return SMALLER
    case 'cut-off':
      return { ...SMALLER, isElsewhere: true }
    case 'too-fast':
    case 'aborted':
      return LATER
    case 'pruned':
    case 'unproven':
      return ELSEWHERE
    case 'behind':
    case 'unreachable':
    case 'malformed':
      return { ...ELSEWHERE, waits: true }
  }
}
