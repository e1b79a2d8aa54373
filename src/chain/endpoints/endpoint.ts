import { allEnded } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import type { EndpointState, EndpointStatus } from '../chain-source.ts'
import { PairTable } from '../columns/log-columns.ts'
import { columnsOf } from '../columns/scan-logs.ts'
import {
  asksToSlowDown,
  EndpointError,
  type FailureKind,
  isOutage,
  RpcError,
} from '../rpc-error.ts'
import { type CallSource, callSource, JsonRpc, type RpcCall } from './call-source.ts'
import { type HttpAnswer, openPost, type Post } from './http-post.ts'
import type { FetchedLogs, LogsFetcher, LogsRequest } from './logs-fetcher.ts'
import { RateLimiter, type RateLimitPass, type Timing } from './rate-limiter.ts'

interface EndpointDeps {
  readonly chainId: number
  readonly timing: Timing
  readonly fetcher: LogsFetcher
  onError(event: { readonly host: string; readonly message: string }): void
  onEvent(event: EndpointEvent): void
}

export interface EndpointEvent {
  readonly host: string
  readonly state: EndpointStatus['state']
  readonly reason: string | null
}

/** 5 MB over a slow line. */
const HISTORY_TIMEOUT_MS = 30_000

const BEHIND_IN_ROW_MAX = 3

const TWO_FAILED_MAX = 3

/** JSON-RPC 2.0, 5.1: -32600 is "Invalid Request". */
const NO_BATCHES = /\bbatch|invalid request|HTTP 405/i

const OTHER_REASONS: readonly FailureKind[] = ['too-fast', 'too-large', 'behind', 'aborted']

export class Endpoint {
  /** May hold a key: never log it. */
  readonly url: string
  readonly host: string
  readonly health: Health
  readonly limiter: RateLimiter
  readonly calls: CallSource
  readonly #deps: EndpointDeps
  readonly #rpc: JsonRpc
  readonly #post: Post
  readonly #secrets: readonly string[]
  readonly #latency = new LatencyWindow()
  readonly #counts = { requests: 0, refused: 0, failed: 0, bytesReceived: 0 }
  readonly #reported = new WeakMap<EndpointError, EndpointError>()
  rangeMax: number | null = null
  #historyId = 0
  #behindInRow = 0
  /** Requests with two calls that failed before any was answered. */
  #twoFailed = 0

  constructor(deps: EndpointDeps, url: string) {
    this.url = url
    this.host = new URL(url).host
    this.#deps = deps
    this.#post = openPost(url)
    this.#secrets = secretsOf(url)
    this.#rpc = new JsonRpc((body, how, read) => this.#exchange(body, how, read))
    this.calls = callSource(deps.chainId, (call) => this.call(call))
    this.limiter = new RateLimiter(deps.timing)
    this.health = new Health(deps.timing.clock, (state, reason) =>
      deps.onEvent({ host: this.host, state, reason }),
    )
  }

  async call(call: RpcCall, how: { readonly background?: boolean } = {}): Promise<unknown> {
    try {
      const result = await this.#rpc.call(call, how)
      if (call.method === 'eth_getBlockByNumber') this.#noteBlock(call, result)
      return result
    } catch (error) {
      throw this.#report(call.method, error)
    }
  }

  async history(ask: RangeRequest): Promise<Omit<FetchedLogs, 'wireBytes'>> {
    const { filter, from, to, signal } = ask
    const { chainId, fetcher } = this.#deps
    this.#historyId += 2
    const { url } = this
    const request = { url, chainId, id: this.#historyId, filter, from, to }
    if (this.#takesNoTwo || !this.calls.takes(filter)) return this.#historyByCalls(ask)
    try {
      const { columns, end } = await this.#inTurn({ urgent: false, signal }, () =>
        fetcher.fetch({ ...request, timeoutMs: HISTORY_TIMEOUT_MS }, signal),
      )
      this.#behindInRow = 0
      this.#twoFailed = Number.NEGATIVE_INFINITY
      return { columns, end }
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error
      if (error.kind === 'behind') this.#noteBehind(error)
      this.#capRange(error.blocksMax)
      const reported = this.#report('eth_getLogs', error)
      const isOneBlock = from === to && error.kind === 'too-large'
      this.#noteTwo(error)
      if (isOneBlock || error.addressesMax !== undefined || this.#takesNoTwo)
        return this.#historyByCalls(ask)
      throw reported
    }
  }

  /** Once two calls at once were answered, a stray refusal changes nothing. */
  #noteTwo({ kind, message }: EndpointError): void {
    if (kind === 'behind') this.#twoFailed = Number.NEGATIVE_INFINITY
    if (OTHER_REASONS.includes(kind)) return
    this.#twoFailed += NO_BATCHES.test(message) ? TWO_FAILED_MAX : 1
  }

  get #takesNoTwo(): boolean {
    return this.#twoFailed >= TWO_FAILED_MAX
  }

  /** Where one request cannot have it: more addresses than the node takes, or a block of more logs than it returns. */
  async #historyByCalls({ filter, from, to }: RangeRequest): ReturnType<Endpoint['history']> {
    const { chainId } = this.#deps
    const readEnd = this.calls.header(to)
    if (this.#takesNoTwo) await readEnd
    const [end, logs] = await allEnded([readEnd, this.calls.logsInRange(filter, from, to)])
    if (end === undefined) throw new EndpointError('behind', `${this.host} knows no block ${to}`)
    return { columns: columnsOf(chainId, PairTable.of(filter), logs), end }
  }

  /** One may come from a lagging node behind a load balancer. */
  #noteBehind({ message }: EndpointError): void {
    this.#behindInRow += 1
    if (this.#behindInRow >= BEHIND_IN_ROW_MAX) this.health.lacksHistory(message)
  }

  #capRange(blocksMax: number | undefined): void {
    if (blocksMax !== undefined) this.rangeMax = Math.min(this.rangeMax ?? blocksMax, blocksMax)
  }

  get p95Ms(): number | null {
    return this.#latency.p95Ms()
  }

  blame(error: RpcError): void {
    if (error.tooLarge) this.#counts.refused += 1
    else {
      this.#counts.failed += 1
      this.health.blame(error)
    }
  }

  status(preferred: boolean): EndpointStatus {
    return {
      host: this.host,
      state: this.health.state,
      reason: this.health.reason,
      preferred,
      headNumber: this.health.headNumber,
      ...this.#counts,
      inFlight: this.limiter.inFlight,
      limit: this.limiter.limit,
      p95Ms: this.p95Ms,
      rangeMax: this.rangeMax,
    }
  }

  async #exchange<T>(
    body: string,
    how: { readonly timeoutMs: number; readonly background: boolean },
    read: (answer: HttpAnswer) => T,
  ): Promise<T> {
    const { value } = await this.#inTurn({ urgent: true }, async () => {
      const answer = await this.#post(body, how)
      return { value: read(answer), wireBytes: answer.wireBytes }
    })
    return value
  }

  async #inTurn<T extends { readonly wireBytes: number }>(
    turn: {
      readonly urgent: boolean
      readonly signal?: AbortSignal | undefined
    },
    send: () => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#deps.timing
    const pass = await this.limiter.enter(turn.urgent, turn.signal)
    const startedMs = clock()
    this.#counts.requests += 1
    try {
      const answer = await send()
      this.#counts.bytesReceived += answer.wireBytes
      this.#latency.add(clock() - startedMs)
      this.limiter.speedUp()
      this.health.succeeded()
      return answer
    } catch (error) {
      this.#count(pass, error)
      throw error
    } finally {
      this.limiter.leave(pass)
    }
  }

  #count(pass: RateLimitPass, error: unknown): void {
    if (error instanceof RpcError && !(error instanceof EndpointError)) this.blame(error)
    if (!(error instanceof EndpointError) || error.kind === 'aborted') return
    const isRefusal = error.kind === 'too-fast' || error.kind === 'too-large'
    this.#counts[isRefusal ? 'refused' : 'failed'] += 1
    if (asksToSlowDown(error.kind)) this.limiter.slowDown(pass, error)
    this.health.failed(error)
  }

  #noteBlock({ params }: RpcCall, block: unknown): void {
    const hasNumber = typeof block === 'object' && block !== null && 'number' in block
    const number = hasNumber ? Number(block.number) : Number.NaN
    if (Number.isSafeInteger(number)) this.health.knows(number, params[0] === 'latest')
  }

  #report(method: string, error: unknown): unknown {
    if (!(error instanceof EndpointError) || error.kind === 'aborted') return error
    const before = this.#reported.get(error)
    if (before !== undefined) return before
    const words = withoutSecrets(error.message, this.#secrets).slice(0, 300)
    const message = `${this.host} ${method}: ${words}`
    // Most nodes prune state and keep logs.
    if (error.kind === 'pruned' && method !== 'eth_call') this.health.lacksHistory(message)
    this.#deps.onError({ host: this.host, message })
    const reported = new EndpointError(error.kind, message, error)
    this.#reported.set(error, reported)
    return reported
  }
}

interface RangeRequest extends Pick<LogsRequest, 'filter' | 'from' | 'to'> {
  readonly signal?: AbortSignal | undefined
}

const LATENCIES_MAX = 50

class LatencyWindow {
  readonly #samplesMs: number[] = []
  #next = 0

  add(ms: number): void {
    this.#samplesMs[this.#next] = ms
    this.#next = (this.#next + 1) % LATENCIES_MAX
  }

  p95Ms(): number | null {
    const sorted = [...this.#samplesMs].sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null
  }
}

type SetAside = Exclude<EndpointState, 'ok' | 'probing'>

const FAILURES_IN_ROW_MAX = 3

/** Doubles until the endpoint stays healthy. */
const ASIDE_MS: Readonly<Record<SetAside, number>> = {
  failing: 2_000,
  lagging: 15_000,
  pruned: 300_000,
  lying: 60_000,
  'wrong-chain': 60_000,
}
const ASIDE_MAX_MS = 300_000

const FORGIVEN_MS = 300_000

class Health {
  readonly #clock: Clock
  readonly #onChange: (state: EndpointState, reason: string | null) => void
  state: EndpointState = 'probing'
  reason: string | null = null
  failuresInRow = 0
  #timesAside = 0
  #askAgainMs = 0
  wellSinceMs = Number.NEGATIVE_INFINITY
  headNumber: number | null = null
  #resolveProbed = () => {}
  readonly untilProbed: Promise<void>
  lagBlocks = 0

  constructor(clock: Clock, onChange: (state: EndpointState, reason: string | null) => void) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.untilProbed = promise
    this.#resolveProbed = resolve
    this.#clock = clock
    this.#onChange = onChange
  }

  get isUsable(): boolean {
    return this.state === 'ok' || this.state === 'pruned'
  }

  get isDue(): boolean {
    return this.#clock() >= this.#askAgainMs
  }

  knows(number: number, isHead: boolean): void {
    this.headNumber = isHead ? number : Math.max(number, this.headNumber ?? 0)
  }

  succeeded(): void {
    this.failuresInRow = 0
  }

  failed(error: EndpointError): void {
    if (!isOutage(error.kind)) return
    this.failuresInRow += 1
    if (this.failuresInRow < FAILURES_IN_ROW_MAX) return
    if (this.isUsable) this.setAside('failing', error.message)
  }

  lacksHistory(reason: string): void {
    if (this.state === 'ok') this.setAside('pruned', reason)
  }

  /** Endpoints without any answered probe are not trusted. */
  missedProbe(error: RpcError): void {
    const state = this.state
    if (state === 'probing') this.setAside('failing', error.message)
    else if (state !== 'ok') this.setAside(state, this.reason ?? error.message)
  }

  blame(error: RpcError): void {
    if (error.lie) this.setAside('lying', error.message)
    else {
      this.failuresInRow += 1
      if (this.failuresInRow >= FAILURES_IN_ROW_MAX && this.isUsable)
        this.setAside('failing', error.message)
    }
  }

  provenOfChain(): void {
    this.failuresInRow = 0
    if (this.state === 'probing') this.#change('ok', null)
    this.#resolveProbed()
  }

  /** Liars and pruned endpoints wait out their time. */
  passed(): void {
    const isMended = ['failing', 'lagging', 'wrong-chain'].includes(this.state)
    if (this.state !== 'ok' && (isMended || this.isDue)) {
      this.wellSinceMs = this.#clock()
      this.#change('ok', null)
    }
  }

  setAside(state: SetAside, reason: string): void {
    this.#resolveProbed()
    const nowMs = this.#clock()
    // Responses in flight together are one incident.
    if (state === this.state && nowMs < this.#askAgainMs) return
    if (nowMs - this.wellSinceMs > FORGIVEN_MS) this.#timesAside = 0
    const pauseMs = Math.min(ASIDE_MAX_MS, ASIDE_MS[state] * 2 ** this.#timesAside)
    this.#timesAside += 1
    this.#askAgainMs = nowMs + pauseMs
    this.wellSinceMs = Number.POSITIVE_INFINITY
    this.#change(state, reason)
  }

  #change(state: EndpointState, reason: string | null): void {
    const isNews = state !== this.state
    this.state = state
    this.reason = reason
    if (isNews) this.#onChange(state, reason)
  }
}

/** Shorter segments are words such as "rpc" or "v2". */
const SECRET_LENGTH_MIN = 8

export function secretsOf(url: string): readonly string[] {
  const { pathname, search, searchParams, username, password } = new URL(url)
  const plain = [...pathname.split('/'), search.slice(1), ...searchParams.values()]
  const all = [...plain, username, password].flatMap((part) => [part, decoded(part)])
  const credentials = [username, password].flatMap((part) => [part, decoded(part)])
  return [...new Set(all)]
    .filter((part) => part.length >= SECRET_LENGTH_MIN || credentials.includes(part))
    .filter((part) => part.length > 0)
    .sort((a, b) => b.length - a.length)
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '…'), text)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
