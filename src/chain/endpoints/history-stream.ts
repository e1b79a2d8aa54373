import { setMaxListeners } from 'node:events'
import { EndpointError, type FailureKind, RpcError } from '#chain/rpc-error.ts'
import type { HistoryPart, HistoryRequest } from '../chain-source.ts'
import type { LogColumns } from '../columns/log-columns.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import type { LogsFetcher } from './logs-fetcher.ts'

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

const NOTHING: RetryPlan = { isSize: false, isSmaller: false, isElsewhere: false, waits: false }
const SMALLER = { ...NOTHING, isSize: true, isSmaller: true }
const LATER = { ...NOTHING, waits: true }
const ELSEWHERE = { ...NOTHING, isElsewhere: true }

const PLANS: Readonly<Record<FailureKind, RetryPlan>> = {
  'too-large': SMALLER,
  timeout: SMALLER,
  // Most likely the size.
  refused: SMALLER,
  reverted: SMALLER,
  'no-method': SMALLER,
  'cut-off': { ...SMALLER, isElsewhere: true },
  'too-fast': LATER,
  aborted: LATER,
  pruned: ELSEWHERE,
  unproven: ELSEWHERE,
  behind: { ...ELSEWHERE, waits: true },
  unreachable: { ...ELSEWHERE, waits: true },
  malformed: { ...ELSEWHERE, waits: true },
}

function retryPlanFor(error: unknown): RetryPlan {
  if (error instanceof EndpointError) return PLANS[error.kind]
  const tooLarge = error instanceof RpcError && error.tooLarge
  return { ...NOTHING, isSize: tooLarge, isSmaller: true, isElsewhere: !tooLarge }
}

interface QueuedRange {
  readonly from: number
  readonly to: number
  state: 'waiting' | 'asked' | 'answered'
  tries: number
  readonly avoid: ReadonlySet<Endpoint>
  bytes: number
  part: HistoryPart | undefined
}

const NEW = { state: 'waiting', tries: 0, bytes: 0, part: undefined } as const

class RangeQueue {
  readonly #to: number
  #next: number
  #pieces: QueuedRange[] = []

  constructor(from: number, to: number) {
    this.#next = from
    this.#to = to
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#next > this.#to
  }

  get asked(): number {
    return this.#pieces.filter((piece) => piece.state === 'asked').length
  }

  get answered(): number {
    return this.#pieces.filter((piece) => piece.state === 'answered').length
  }

  get answeredBytes(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  }

  get isFirstWaiting(): boolean {
    const [first] = this.#pieces
    return first === undefined || first.state === 'waiting'
  }

  peek(): Pick<QueuedRange, 'from' | 'to' | 'avoid'> | undefined {
    const waiting = this.#pieces.find((piece) => piece.state === 'waiting')
    if (waiting !== undefined) return waiting
    if (this.#next > this.#to) return undefined
    return { from: this.#next, to: this.#to, avoid: new Set() }
  }

  take(blocks: number): QueuedRange | undefined {
    const place = this.#pieces.findIndex((piece) => piece.state === 'waiting')
    const waiting = this.#pieces[place]
    if (waiting === undefined) return this.#takeNew(blocks)
    const end = waiting.from + blocks - 1
    if (end >= waiting.to) {
      waiting.state = 'asked'
      return waiting
    }
    const first = cut(waiting, waiting.from, end)
    first.state = 'asked'
    this.#pieces.splice(place, 1, first, cut(waiting, end + 1, waiting.to))
    return first
  }

  putBack(piece: QueuedRange, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    this.#replace(piece, [{ ...again, state: 'waiting', tries: piece.tries + 1 }])
  }

  halve(piece: QueuedRange, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    const middle = piece.from + Math.ceil((piece.to - piece.from + 1) / 2)
    this.#replace(piece, [cut(again, piece.from, middle - 1), cut(again, middle, piece.to)])
  }

  answer(piece: QueuedRange, part: HistoryPart): void {
    piece.state = 'answered'
    piece.part = part
    piece.bytes = part.columns.body.byteLength
  }

  handOut(): HistoryPart | undefined {
    const part = this.#pieces[0]?.part
    if (part !== undefined) this.#pieces.shift()
    return part
  }

  #takeNew(blocks: number): QueuedRange | undefined {
    const from = this.#next
    if (from > this.#to) return undefined
    const to = Math.min(this.#to, from + blocks - 1)
    const piece: QueuedRange = { ...NEW, from, to, state: 'asked', avoid: new Set() }
    this.#next = to + 1
    this.#pieces.push(piece)
    return piece
  }

  #replace(piece: QueuedRange, pieces: readonly QueuedRange[]): void {
    const place = this.#pieces.indexOf(piece)
    if (place >= 0) this.#pieces.splice(place, 1, ...pieces)
  }
}

function cut(piece: QueuedRange, from: number, to: number): QueuedRange {
  return { ...piece, ...NEW, from, to }
}

function withAvoided(piece: QueuedRange, failed: Endpoint): QueuedRange {
  return { ...piece, avoid: new Set([...piece.avoid, failed]) }
}

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
