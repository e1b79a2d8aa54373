import { setMaxListeners } from 'node:events'
import type { HistoryPart, HistoryRequest } from '../chain-source.ts'
import { EndpointError, type FailureKind, RpcError } from '../rpc-error.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointPool } from './endpoint-pool.ts'

/** `RateLimiter` decides below it. */
const AHEAD_MAX = 16

/** Four full responses. */
const AHEAD_BYTES_MAX = 24_000_000

/** There is a back-off between tries. */
const TRIES_MAX = 10

export async function* streamHistory(
  pool: EndpointPool,
  request: HistoryRequest,
): AsyncGenerator<HistoryPart> {
  const stop = new AbortController()
  const { signal: outer } = request
  const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal])
  setMaxListeners(0, signal)
  try {
    await pool.inOrder()
    const stream = new HistoryStream(pool, { ...request, signal })
    for (;;) {
      const part = await stream.next()
      if (part === undefined) return
      yield part
    }
  } finally {
    stop.abort()
  }
}

interface WaitingRange {
  readonly from: number
  readonly to: number
  readonly tries: number
  /** Endpoints that failed it. */
  readonly avoid: ReadonlySet<Endpoint>
}

type CancellableRequest = HistoryRequest & { readonly signal: AbortSignal }

/** Reads ranges ahead, and hands them out in block order. */
class HistoryStream {
  readonly #pool: EndpointPool
  readonly #request: CancellableRequest
  readonly #sizer = new RangeSizer()
  /** What is not asked for, by block. */
  #waiting: readonly WaitingRange[]
  #asked = 0
  readonly #answered = new Map<number, HistoryPart>()
  #answeredBytes = 0
  /** The first block that is not handed out. */
  #next: number
  #failure: { readonly error: unknown } | undefined
  #isRefreshing = false
  #news = Promise.withResolvers<void>()

  constructor(pool: EndpointPool, request: CancellableRequest) {
    this.#pool = pool
    this.#request = request
    this.#next = request.from
    this.#waiting = [{ from: request.from, to: request.to, tries: 0, avoid: new Set() }]
  }

  /** Undefined at the end. Throws if the consumer aborts. */
  async next(): Promise<HistoryPart | undefined> {
    for (;;) {
      this.#request.signal.throwIfAborted()
      if (this.#next > this.#request.to) return undefined
      const part = this.#answered.get(this.#next)
      if (part !== undefined) {
        this.#answered.delete(part.from)
        this.#answeredBytes -= part.bytes
        this.#next = part.to + 1
      }
      this.#askAhead()
      if (part !== undefined) return part
      if (this.#failure) throw this.#failure.error
      await this.#news.promise
      this.#news = Promise.withResolvers()
    }
  }

  #askAhead(): void {
    while (!this.#failure && !this.#isRefreshing && !this.#request.signal.aborted) {
      const [first, ...others] = this.#waiting
      if (first === undefined) return
      const size = this.#sizer.blocks()
      const wanted = Math.min(first.to, first.from + size - 1)
      const endpoint = this.#pool.forHistory(wanted, first.avoid)
      if (endpoint === undefined) this.#findEndpoint(wanted)
      if (endpoint === undefined || !this.#hasRoom(endpoint, first.from === this.#next)) return
      const to = Math.min(wanted, first.from + (endpoint.rangeMax ?? size) - 1)
      const rest = { ...first, from: to + 1, tries: 0 }
      this.#waiting = to < first.to ? [rest, ...others] : others
      void this.#ask({ ...first, to }, endpoint)
    }
  }

  /** The stream would stall without the range that is `next`. */
  #hasRoom({ limiter, rangeMax }: Endpoint, isNext: boolean): boolean {
    const asked = this.#asked
    if (asked >= Math.min(limiter.limit, AHEAD_MAX)) return false
    if (asked > 0 && this.#sizer.isFeelingItsWay(rangeMax)) return false
    if (isNext) return true
    const expected = this.#answeredBytes + (asked + 1) * this.#sizer.bytesExpected(rangeMax)
    return asked + this.#answered.size < AHEAD_MAX && expected <= AHEAD_BYTES_MAX
  }

  #findEndpoint(to: number): void {
    this.#isRefreshing = true
    void this.#lookFurther(to)
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#isRefreshing = false
        this.#news.resolve()
      })
  }

  async #lookFurther(to: number): Promise<void> {
    await this.#pool.refresh()
    await this.#pool.inOrder()
    if (this.#pool.forHistory(to, new Set()) === undefined)
      throw new RpcError(`no endpoint knows block ${to}`)
  }

  async #ask(range: WaitingRange, endpoint: Endpoint): Promise<void> {
    const { from, to } = range
    const { filter, signal } = this.#request
    this.#asked += 1
    try {
      const read = await endpoint.history({ filter, from, to, signal })
      this.#sizer.answered(to - from + 1, read.bytes)
      this.#answered.set(from, { from, to, ...read, host: endpoint.host })
      this.#answeredBytes += read.bytes
    } catch (error) {
      if (!signal.aborted) this.#askAgain(range, endpoint, error)
    }
    this.#asked -= 1
    this.#news.resolve()
    this.#askAhead()
  }

  #askAgain(range: WaitingRange, endpoint: Endpoint, error: unknown): void {
    if (!(error instanceof RpcError)) {
      this.#failure ??= { error }
      return
    }
    const { from, to, tries, avoid } = range
    const blocks = to - from + 1
    const isOf = (kinds: readonly FailureKind[]) =>
      error instanceof EndpointError && kinds.includes(error.kind)
    const isSize = error.tooLarge || isOf(OF_SIZE)
    if (isSize) this.#sizer.refused(blocks, error instanceof EndpointError ? error : {})
    const isSmaller = isSize && blocks > 1
    const isHopeless = !isSmaller && avoid.has(endpoint) && !isOf(PASSING)
    if (isHopeless || tries >= TRIES_MAX) this.#failure ??= { error }
    // A node that does not answer in time may do so for smaller ranges too.
    const isElsewhere = !isSmaller || isOf(['timeout', 'cut-off'])
    const again = {
      ...range,
      tries: isSmaller ? 0 : tries + 1,
      avoid: isElsewhere ? new Set([...avoid, endpoint]) : avoid,
    }
    this.#waiting = [...this.#waiting, again].sort((a, b) => a.from - b.from)
  }
}

/** A smaller range may be answered; unknown words are most likely about the size. */
const OF_SIZE: readonly FailureKind[] = [
  'too-large',
  'timeout',
  'refused',
  'reverted',
  'no-method',
  'cut-off',
]

/** The same endpoint may answer after a back-off. */
const PASSING: readonly FailureKind[] = ['too-fast', 'behind', 'unreachable', 'malformed']

const BYTES_WANTED = 5_000_000
const BYTES_WANTED_MIN = 50_000

/** Fits the strictest archive provider. */
const BLOCKS_START = 2_000

/** Bounds a wrong guess. */
const BLOCKS_MAX = 5_000_000

const GROWTH_MAX = 8

/** Low: the latest response may be nearly empty. */
const MEMORY = 0.25

/** Good responses before a refused size is retried; doubles per refusal. */
const CAUTION_START = 8
const CAUTION_MAX = 256

const MARGIN = 1.2

const UNKNOWN_MARGIN = 2

export class RangeSizer {
  #bytesWanted = BYTES_WANTED
  #seen = { blocks: 0, bytes: 0 }
  #proven = BLOCKS_START / GROWTH_MAX
  /** The limit that refusals suggest without naming it. */
  #ceiling = BLOCKS_MAX
  #refused = Number.POSITIVE_INFINITY
  #caution = CAUTION_START
  #goodAnswers = 0

  blocks(): number {
    const perBlock = this.#bytesPerBlock
    const fitting = perBlock === 0 ? BLOCKS_MAX : this.#bytesWanted / perBlock
    const bounded = Math.min(fitting, this.#ceiling, this.#proven * GROWTH_MAX, BLOCKS_MAX)
    return Math.max(1, Math.floor(bounded))
  }

  /** Whether the size may still change much; then requests go one at a time. */
  isFeelingItsWay(rangeMax: number | null): boolean {
    if (this.#seen.blocks === 0) return rangeMax === null || rangeMax > BLOCKS_START
    return Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) > this.#proven * 2
  }

  bytesExpected(rangeMax: number | null): number {
    if (this.#seen.blocks === 0) return this.#bytesWanted * UNKNOWN_MARGIN
    return this.#bytesPerBlock * Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) * MARGIN
  }

  answered(blocks: number, bytes: number): void {
    // Only a well-filled response shows the density.
    const memory = bytes > this.#bytesWanted / 4 ? 0 : MEMORY
    this.#seen = {
      blocks: this.#seen.blocks * memory + blocks,
      bytes: this.#seen.bytes * memory + bytes,
    }
    if (blocks >= this.#refused) this.#forgetRefusals()
    this.#proven = Math.max(blocks, Math.min(this.#proven, this.blocks()))
    this.#goodAnswers += 1
    if (this.#goodAnswers < this.#caution) return
    this.#goodAnswers = 0
    this.#ceiling = Math.min(BLOCKS_MAX, this.#ceiling * 2)
    this.#bytesWanted = Math.min(BYTES_WANTED, this.#bytesWanted * 1.25)
  }

  refused(
    blocks: number,
    limits: {
      readonly blocksMax?: number | undefined
      readonly blocksThatFit?: number | undefined
    },
  ): void {
    // The endpoint remembers its own cap.
    if (limits.blocksMax !== undefined) return
    const smaller = Math.max(1, limits.blocksThatFit ?? Math.floor(blocks / 2))
    const expected = this.#bytesPerBlock * blocks
    if (expected > this.#bytesWanted / 2 && expected < this.#bytesWanted * 2)
      this.#bytesWanted = Math.max(BYTES_WANTED_MIN, this.#bytesWanted * 0.75)
    this.#refused = Math.min(this.#refused, blocks)
    this.#ceiling = Math.min(this.#ceiling, smaller)
    this.#proven = Math.min(this.#proven, smaller)
    this.#caution = Math.min(CAUTION_MAX, this.#caution * 2)
    this.#goodAnswers = 0
  }

  get #bytesPerBlock(): number {
    return this.#seen.blocks === 0 ? 0 : this.#seen.bytes / this.#seen.blocks
  }

  /** The refused length now works: content was the limit. */
  #forgetRefusals(): void {
    this.#refused = Number.POSITIVE_INFINITY
    this.#ceiling = BLOCKS_MAX
    this.#caution = CAUTION_START
  }
}
