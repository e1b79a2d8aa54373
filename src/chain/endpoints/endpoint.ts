import { fromNumber } from 'ox/Hex'
import { allEnded, sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import type { EndpointState, EndpointStatus, HistoryPart, HistoryRequest } from '../chain-source.ts'
import { namedBy, parseBlock, parseRange } from '../parse-rpc.ts'
import {
  asksToSlowDown,
  EndpointError,
  type FailureKind,
  isOutage,
  RpcError,
} from '../rpc-error.ts'
import {
  type CallSource,
  callSource,
  JsonRpc,
  openPost,
  type Post,
  type RpcCall,
  rangeFilter,
  readLogsAndBlock,
  writeBody,
} from './json-rpc.ts'

export interface EndpointEvent {
  readonly host: string
  readonly state: EndpointState
  readonly reason: string | null
}

interface EndpointDeps {
  readonly chainId: number
  readonly timing: Timing
  onError(event: { readonly host: string; readonly message: string }): void
  onEvent(event: EndpointEvent): void
}

/** With the end as this node knows it. */
type FetchedLogs = Pick<HistoryPart, 'logs' | 'bytes' | 'end'>

type SetAside = Exclude<EndpointState, 'ok' | 'probing'>

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

const FAILURES_IN_ROW_MAX = 3

const BEHIND_IN_ROW_MAX = 3

const TWO_FAILED_MAX = 3

const CALL_TIMEOUT_MS = 10_000

/** 5 MB over a slow line. */
const HISTORY_TIMEOUT_MS = 30_000

/** What the log of a transfer takes as JSON. */
const BYTES_PER_LOG = 640

/** JSON-RPC 2.0, 5.1: -32600 is "Invalid Request". */
const NO_BATCHES = /\bbatch|invalid request|HTTP 405/i

const OTHER_REASONS: readonly FailureKind[] = ['too-fast', 'too-large', 'behind', 'aborted']

/** One node: its calls, their pace, and whether it is well. */
export class Endpoint {
  readonly host: string
  readonly limiter: RateLimiter
  readonly call: (call: RpcCall) => Promise<unknown>
  readonly calls: CallSource
  /** As `calls`, but without keeping the process alive. */
  readonly probes: CallSource
  state: EndpointState = 'probing'
  reason: string | null = null
  headNumber: number | null = null
  rangeMax: number | null = null
  wellSinceMs = Number.NEGATIVE_INFINITY
  readonly #deps: EndpointDeps
  readonly #post: Post
  readonly #secrets: readonly string[]
  readonly #counts = { requests: 0, refused: 0, failed: 0 }
  #failuresInRow = 0
  #timesAside = 0
  #askAgainMs = 0
  #historyId = 0
  #behindInRow = 0
  /** Requests with two calls that failed before any was answered. */
  #twoFailed = 0

  /** The URL may hold a key: never log it. */
  constructor(deps: EndpointDeps, url: string) {
    this.host = new URL(url).host
    this.#deps = deps
    this.#post = openPost(url)
    this.#secrets = listSecrets(url)
    this.limiter = new RateLimiter(deps.timing)
    this.call = this.#open(false)
    this.calls = callSource(deps.chainId, this.call)
    this.probes = callSource(deps.chainId, this.#open(true))
  }

  #open(background: boolean): (call: RpcCall) => Promise<unknown> {
    const rpc = new JsonRpc((body, read) =>
      this.#inTurn({ urgent: true }, async () =>
        read(await this.#post(body, { timeoutMs: CALL_TIMEOUT_MS, background })),
      ),
    )
    return async (call) => {
      const result = await rpc.call(call).catch((error) => this.#report(call.method, error))
      if (call.method === 'eth_getBlockByNumber') this.#noteBlock(call, result)
      return result
    }
  }

  async history(ask: HistoryRequest): Promise<FetchedLogs> {
    if (this.#takesNoTwo || !this.calls.takes(ask.filter)) return this.#historyByCalls(ask)
    try {
      const fetched = await this.#inTurn({ urgent: false, signal: ask.signal }, () =>
        this.#fetch(ask),
      )
      this.#behindInRow = 0
      this.#twoFailed = Number.NEGATIVE_INFINITY
      return fetched
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error
      const { kind, blocksMax = null, addressesMax } = error
      if (kind === 'behind') this.#noteBehind(error)
      if (blocksMax !== null) this.rangeMax = Math.min(this.rangeMax ?? blocksMax, blocksMax)
      this.#noteTwo(error)
      const isOneBlock = ask.from === ask.to && kind === 'too-large'
      if (isOneBlock || addressesMax !== undefined || this.#takesNoTwo)
        return this.#historyByCalls(ask)
      return this.#report('eth_getLogs', error)
    }
  }

  /** A lagging node returns an empty list, so the same request must show that it has the last block. */
  async #fetch({ filter, from, to, signal }: HistoryRequest): Promise<FetchedLogs> {
    const { chainId } = this.#deps
    this.#historyId += 2
    const id = this.#historyId
    const block = { id: id + 1, method: 'eth_getBlockByNumber', params: [fromNumber(to), false] }
    const call = { id, method: 'eth_getLogs', params: [rangeFilter(filter, { from, to })] }
    const answer = await this.#post(writeBody([block, call]), {
      timeoutMs: HISTORY_TIMEOUT_MS,
      signal,
    })
    const asked = { logs: { ...call, blocksAsked: to - from + 1 }, block }
    const read = readLogsAndBlock(answer, asked)
    const end = parseBlock(read.block)
    if (end === undefined)
      throw new EndpointError(
        'behind',
        `the node returned logs up to ${to} but does not know that block`,
      )
    if (end.number !== to) throw new RpcError(`asked for block ${to}, got ${end.number}`)
    const logs = parseRange(read.logs, { chainId, filter, from, to })
    return { logs, bytes: answer.body.length, end }
  }

  /** Once two calls at once were answered, a stray refusal changes nothing. */
  #noteTwo({ kind, message }: EndpointError): void {
    if (kind === 'behind') this.#twoFailed = Number.NEGATIVE_INFINITY
    const isBatchSize = kind === 'too-large' && /\bbatch|HTTP 413/i.test(message)
    if (OTHER_REASONS.includes(kind) && !isBatchSize) return
    this.#twoFailed += NO_BATCHES.test(message) ? TWO_FAILED_MAX : 1
  }

  get #takesNoTwo(): boolean {
    return this.#twoFailed >= TWO_FAILED_MAX
  }

  /** Where one request cannot have it: more addresses than the node takes, or a block of more logs than it returns. */
  async #historyByCalls({ filter, from, to }: HistoryRequest): Promise<FetchedLogs> {
    const readEnd = this.calls.header(to)
    if (this.#takesNoTwo) await readEnd
    const [end, logs] = await allEnded([readEnd, this.calls.logsInRange(filter, from, to)])
    if (end === undefined) throw new EndpointError('behind', `${this.host} knows no block ${to}`)
    const bytes = logs.length * BYTES_PER_LOG
    return { logs: namedBy(filter, logs), bytes, end }
  }

  /** A single error may be a lagging node behind a load balancer. */
  #noteBehind({ message }: EndpointError): void {
    this.#behindInRow += 1
    if (this.#behindInRow >= BEHIND_IN_ROW_MAX) this.#lacksHistory(message)
  }

  status(preferred: boolean): EndpointStatus {
    const { host, state, reason, rangeMax } = this
    const { inFlight } = this.limiter
    return { host, state, reason, preferred, ...this.#counts, inFlight, rangeMax }
  }

  async #inTurn<T>(turn: Turn, send: () => Promise<T>): Promise<T> {
    return this.limiter.run(turn, async () => {
      this.#counts.requests += 1
      try {
        const answer = await send()
        this.#failuresInRow = 0
        return answer
      } catch (error) {
        if (error instanceof RpcError) this.blame(error)
        throw error
      }
    })
  }

  #noteBlock({ params }: RpcCall, block: unknown): void {
    const hasNumber = typeof block === 'object' && block !== null && 'number' in block
    const number = hasNumber ? Number(block.number) : Number.NaN
    if (!Number.isSafeInteger(number)) return
    this.headNumber = params[0] === 'latest' ? number : Math.max(number, this.headNumber ?? 0)
  }

  /** Rethrows with the host and the method. */
  #report(method: string, error: unknown): never {
    if (!(error instanceof EndpointError) || error.kind === 'aborted') throw error
    const words = withoutSecrets(error.message, this.#secrets).slice(0, 300)
    const message = `${this.host} ${method}: ${words}`
    // Most nodes prune state and keep logs.
    if (error.kind === 'pruned' && method !== 'eth_call') this.#lacksHistory(message)
    this.#deps.onError({ host: this.host, message })
    throw new EndpointError(error.kind, message, error)
  }

  get isUsable(): boolean {
    return this.state === 'ok' || this.state === 'pruned'
  }

  get isDue(): boolean {
    return this.#deps.timing.clock() >= this.#askAgainMs
  }

  /** Counts a failed request, or an answer that cannot be right. */
  blame(error: RpcError): void {
    const kind = error instanceof EndpointError ? error.kind : 'malformed'
    if (kind === 'aborted') return
    this.#counts[kind === 'too-fast' || error.tooLarge ? 'refused' : 'failed'] += 1
    if (error.lie) this.setAside('lying', error.message)
    if (error.lie || !isOutage(kind)) return
    this.#failuresInRow += 1
    if (this.#failuresInRow >= FAILURES_IN_ROW_MAX && this.isUsable)
      this.setAside('failing', error.message)
  }

  #lacksHistory(reason: string): void {
    if (this.state === 'ok') this.setAside('pruned', reason)
  }

  /** Endpoints without any answered probe are not trusted. */
  missedProbe({ message }: RpcError): void {
    const { state } = this
    if (state === 'probing') this.setAside('failing', message)
    else if (state !== 'ok') this.setAside(state, this.reason ?? message)
  }

  /** Liars and pruned endpoints wait out their time. */
  passedProbe(): void {
    const isMended = ['failing', 'lagging', 'wrong-chain'].includes(this.state)
    if (this.state === 'ok' || !(isMended || this.isDue)) return
    this.wellSinceMs =
      this.state === 'probing' ? Number.NEGATIVE_INFINITY : this.#deps.timing.clock()
    this.#change('ok', null)
  }

  setAside(state: SetAside, reason: string): void {
    const nowMs = this.#deps.timing.clock()
    // Responses in flight together are one incident.
    if (state === this.state && nowMs < this.#askAgainMs) return
    if (nowMs - this.wellSinceMs > FORGIVEN_MS) this.#timesAside = 0
    const pauseMs = Math.min(ASIDE_MAX_MS, ASIDE_MS[state] * 2 ** this.#timesAside)
    this.#timesAside += 1
    this.#askAgainMs = nowMs + pauseMs
    this.wellSinceMs = Number.POSITIVE_INFINITY
    this.#change(state, withoutSecrets(reason, this.#secrets))
  }

  #change(state: EndpointState, reason: string | null): void {
    const isNews = state !== this.state
    this.state = state
    this.reason = reason
    if (isNews) this.#deps.onEvent({ host: this.host, state, reason })
  }
}

/** Shorter segments are words such as "rpc" or "v2". */
const SECRET_LENGTH_MIN = 8

export function listSecrets(url: string): readonly string[] {
  const { pathname, search, searchParams, username, password } = new URL(url)
  const plain = [...pathname.split('/'), search.slice(1), ...searchParams.values()]
  const credentials = [username, password].flatMap((part) => [part, decoded(part)])
  const all = [...plain.flatMap((part) => [part, decoded(part)]), ...credentials]
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

export interface Timing {
  /** Monotonic. */
  readonly clock: Clock
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  clock: () => performance.now(),
  random: Math.random,
  sleep,
}

const LIMIT_START = 4
const LIMIT_MAX = 16

const PAUSE_START_MS = 250
const PAUSE_MAX_MS = 60_000
/** Notices recovery soon. */
const OUTAGE_PAUSE_MAX_MS = 4_000

/** Fails at once if it would wait longer. */
const URGENT_PATIENCE_MS = 10_000

interface Turn {
  readonly urgent: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Slow start and AIMD, as in TCP (RFC 5681), with a pause after a refusal. Urgent requests wait for
 * urgent ones only.
 */
export class RateLimiter {
  readonly #timing: Timing
  readonly #inFlight = { urgent: 0, other: 0 }
  #limit = LIMIT_START
  #slowdowns = 0
  #refusalsInRow = 0
  #pausedUntilMs = 0
  #left = Promise.withResolvers<void>()

  constructor(timing: Timing) {
    this.#timing = timing
  }

  get limit(): number {
    return Math.floor(this.#limit)
  }

  get inFlight(): number {
    return this.#inFlight.urgent + this.#inFlight.other
  }

  get pausedMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#timing.clock())
  }

  /** Runs the request when its turn has come. */
  async run<T>(turn: Turn, request: () => Promise<T>): Promise<T> {
    await this.#enter(turn)
    const slowdowns = this.#slowdowns
    try {
      const answer = await request()
      this.#refusalsInRow = 0
      this.#limit = Math.min(LIMIT_MAX, this.#limit + (this.#slowdowns === 0 ? 1 : 1 / this.#limit))
      return answer
    } catch (error) {
      if (error instanceof EndpointError && asksToSlowDown(error.kind))
        this.#slowDown(error, slowdowns === this.#slowdowns)
      throw error
    } finally {
      this.#inFlight[turn.urgent ? 'urgent' : 'other'] -= 1
      const left = this.#left
      this.#left = Promise.withResolvers()
      left.resolve()
    }
  }

  async #enter({ urgent, signal }: Turn): Promise<void> {
    for (;;) {
      if (signal?.aborted) throw new EndpointError('aborted', 'cancelled by the caller')
      const { pausedMs } = this
      if (urgent && pausedMs > URGENT_PATIENCE_MS) {
        const seconds = Math.ceil(pausedMs / 1000)
        throw new EndpointError('too-fast', `rate-limited; retrying in ${seconds} s`)
      }
      const ahead = urgent ? this.#inFlight.urgent : this.inFlight
      if (pausedMs > 0) await this.#timing.sleep(Math.ceil(pausedMs), signal)
      else if (ahead >= this.limit) await this.#left.promise
      else break
    }
    this.#inFlight[urgent ? 'urgent' : 'other'] += 1
  }

  /** `isNews`: of requests that were sent together, the first refusal halves the limit. */
  #slowDown({ kind, retryAfterMs }: EndpointError, isNews: boolean): void {
    const pauseMs = retryAfterMs ?? this.#backoffMs(kind === 'too-fast')
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#timing.clock() + pauseMs)
    if (!isNews) return
    this.#slowdowns += 1
    this.#refusalsInRow += 1
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
  }

  /** Jitter keeps clients out of step. */
  #backoffMs(isTooFast: boolean): number {
    const maxMs = isTooFast ? PAUSE_MAX_MS : OUTAGE_PAUSE_MAX_MS
    const ms = Math.min(maxMs, PAUSE_START_MS * 2 ** this.#refusalsInRow)
    return ms * (0.5 + this.#timing.random() / 2)
  }
}
