import { type EndpointStatus, RpcError } from '../chain-source.ts'
import type { BodyPool } from './body-pool.ts'
import { type CallSource, callSource } from './call-source.ts'
import { asksForCalm, EndpointError } from './endpoint-error.ts'
import { Health } from './health.ts'
import { type HttpAnswer, openPost, type Post } from './http-post.ts'
import { type ExchangeAsk, JsonRpc, type RpcCall } from './json-rpc.ts'
import { LatencyWindow } from './latency-window.ts'
import { Pace, type Pass } from './pace.ts'
import { secretsOf, withoutSecrets } from './secrets.ts'
import type { Timing } from './timing.ts'

export interface EndpointDeps {
  readonly chainId: number
  readonly timing: Timing
  onError(event: { readonly host: string; readonly message: string }): void
  onEvent(event: EndpointEvent): void
}

/** An endpoint's state changed. */
export interface EndpointEvent {
  readonly host: string
  readonly state: EndpointStatus['state']
  readonly reason: string | null
}

/** One JSON-RPC endpoint: its connections, its pace, its health and its figures. */
export class Endpoint {
  readonly host: string
  readonly health: Health
  readonly pace: Pace
  /** Small calls, each answer parsed. */
  readonly calls: CallSource
  /** Of histories alone: they take longer than other calls. */
  readonly historyLatency = new LatencyWindow()
  readonly #deps: EndpointDeps
  readonly #rpc: JsonRpc
  readonly #post: Post
  readonly #secrets: readonly string[]
  readonly #latency = new LatencyWindow()
  readonly #counts = { requests: 0, refused: 0, failed: 0, hedged: 0, bytesReceived: 0 }
  readonly #toldErrors = new WeakMap<EndpointError, EndpointError>()
  #rangeMax: number | null = null

  constructor(deps: EndpointDeps, url: string) {
    this.host = new URL(url).host
    this.#deps = deps
    this.#post = openPost(url)
    this.#secrets = secretsOf(url)
    this.#rpc = new JsonRpc((ask, body, read) => this.#exchange(ask, body, read))
    this.calls = callSource(deps.chainId, (call) => this.call(call))
    this.pace = new Pace(deps.timing)
    this.health = new Health(deps.timing.clock, (state, reason) =>
      deps.onEvent({ host: this.host, state, reason }),
    )
  }

  /** The result of a small call; throws EndpointError. */
  async call(call: RpcCall, how: { readonly background?: boolean } = {}): Promise<unknown> {
    try {
      const result = await this.#rpc.call(call, how)
      if (call.method === 'eth_getBlockByNumber') this.#noteBlock(call, result)
      return result
    } catch (error) {
      throw this.#told(call.method, error)
    }
  }

  /** One `eth_getLogs` over a range, read by `read` as bytes. */
  async history<T>(ask: HistoryAsk<T>): Promise<T> {
    const call = { method: 'eth_getLogs', params: ask.params, blocksAsked: ask.blocks }
    let sentMs = 0
    const onSent = () => {
      sentMs = this.#deps.timing.clock()
      ask.onSent?.()
    }
    try {
      const value = await this.#rpc.rangeLogs(
        call,
        { signal: ask.signal, onSent, pool: ask.pool },
        ask.read,
      )
      this.historyLatency.add(this.#deps.timing.clock() - sentMs)
      return value
    } catch (error) {
      if (error instanceof EndpointError && error.blocksMax !== undefined)
        this.#rangeMax = Math.min(this.#rangeMax ?? error.blocksMax, error.blocksMax)
      throw this.#told(call.method, error)
    }
  }

  /** The most blocks per `eth_getLogs` that the endpoint says it allows. */
  get rangeMax(): number | null {
    return this.#rangeMax
  }

  get p95Ms(): number | null {
    return this.#latency.p95Ms()
  }

  /** What the endpoint said could not be true. */
  blame(error: RpcError): void {
    if (error.tooLarge) this.#counts.refused += 1
    else {
      this.#counts.failed += 1
      this.health.blame(error)
    }
  }

  countHedge(): void {
    this.#counts.hedged += 1
  }

  status(preferred: boolean): EndpointStatus {
    return {
      host: this.host,
      state: this.health.state,
      reason: this.health.reason,
      preferred,
      headNumber: this.health.headNumber,
      ...this.#counts,
      inFlight: this.pace.inFlight,
      limit: this.pace.limit,
      p95Ms: this.p95Ms,
      rangeMax: this.#rangeMax,
    }
  }

  async #exchange<T>(
    ask: ExchangeAsk,
    body: () => string,
    read: (answer: HttpAnswer) => T,
  ): Promise<T> {
    const pass = await this.pace.enter(ask.urgent, ask.signal)
    const startedMs = this.#deps.timing.clock()
    this.#counts.requests += 1
    ask.onSent?.()
    try {
      const answer = await this.#post(body(), ask)
      this.#counts.bytesReceived += answer.wireBytes
      const value = read(answer)
      this.#latency.add(this.#deps.timing.clock() - startedMs)
      this.pace.speedUp()
      this.health.succeeded()
      return value
    } catch (error) {
      this.#count(pass, error)
      throw error
    } finally {
      this.pace.leave(pass)
    }
  }

  #count(pass: Pass, error: unknown): void {
    if (error instanceof RpcError && !(error instanceof EndpointError)) this.blame(error)
    if (!(error instanceof EndpointError) || error.kind === 'aborted') return
    const isRefusal = error.kind === 'too-fast' || error.kind === 'too-large'
    this.#counts[isRefusal ? 'refused' : 'failed'] += 1
    if (asksForCalm(error.kind)) this.pace.slowDown(pass, error)
    this.health.failed(error)
  }

  #noteBlock({ params }: RpcCall, block: unknown): void {
    const hasNumber = typeof block === 'object' && block !== null && 'number' in block
    const number = hasNumber ? Number(block.number) : Number.NaN
    if (Number.isSafeInteger(number)) this.health.knows(number, params[0] === 'latest')
  }

  /** The error with the host before it and no secret in it; the calls of a batch share one. */
  #told(method: string, error: unknown): unknown {
    if (!(error instanceof EndpointError) || error.kind === 'aborted') return error
    const before = this.#toldErrors.get(error)
    if (before !== undefined) return before
    const words = withoutSecrets(error.message, this.#secrets).slice(0, 300)
    const message = `${this.host} ${method}: ${words}`
    // State that is gone says nothing about logs: most nodes keep these and not that.
    if (error.kind === 'pruned' && method !== 'eth_call') this.health.lacksHistory(message)
    this.#deps.onError({ host: this.host, message })
    const told = new EndpointError(error.kind, message, error)
    this.#toldErrors.set(error, told)
    return told
  }
}

export interface HistoryAsk<T> {
  readonly params: readonly unknown[]
  readonly blocks: number
  readonly signal?: AbortSignal | undefined
  /** Called when the turn of the request has come. */
  readonly onSent?: () => void
  readonly pool?: BodyPool | undefined
  read(body: Uint8Array): T
}
