import type { BodyPool } from './body-pool.ts'
import { EndpointError } from './endpoint-error.ts'
import type { HttpAnswer } from './http-post.ts'
import { readAnswer, readAnswers, readEnvelope } from './rpc-answer.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Sends a body when its turn has come and reads the answer; the reader's errors count against it. */
export type Exchange = <T>(
  ask: ExchangeAsk,
  body: () => string,
  read: (answer: HttpAnswer) => T,
) => Promise<T>

export interface ExchangeAsk {
  /** Does not wait for what is not urgent. */
  readonly urgent: boolean
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly background?: boolean
  readonly onSent?: (() => void) | undefined
  readonly pool?: BodyPool | undefined
}

/** A healthy node answers a small call well within this time, whatever it is. */
const CALL_TIMEOUT_MS = 10_000

/** Five megabytes over a slow line, and a node that has to read old history from disk. */
const HISTORY_TIMEOUT_MS = 30_000

/** Calls of one tick travel together; public endpoints refuse longer batches. */
const BATCH_SIZE_MAX = 50

interface Waiting extends RpcCall {
  readonly id: number
  readonly background: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** JSON-RPC 2.0 over one endpoint: small calls in batches, histories one by one and unparsed. */
export class JsonRpc {
  readonly #exchange: Exchange
  #queue: Waiting[] = []
  #isFlushing = false
  #nextId = 1
  #batchSizeMax = BATCH_SIZE_MAX

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  /** The result of a call; throws EndpointError for everything else. */
  call(call: RpcCall, how: { readonly background?: boolean } = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#takeId()
      this.#queue.push({ ...call, id, background: how.background ?? false, resolve, reject })
      if (this.#isFlushing) return
      this.#isFlushing = true
      setImmediate(() => {
        this.#isFlushing = false
        this.#flush()
      })
    })
  }

  /** `eth_getLogs` over a range: `read` gets the whole body, known to hold a list and our id. */
  rangeLogs<T>(
    call: RpcCall & { readonly blocksAsked: number },
    how: Pick<ExchangeAsk, 'signal' | 'onSent' | 'pool'>,
    read: (body: Uint8Array) => T,
  ): Promise<T> {
    const id = this.#takeId()
    const ask = { urgent: false, timeoutMs: HISTORY_TIMEOUT_MS, ...how }
    return this.#exchange(
      ask,
      () => bodyOf({ ...call, id }),
      (answer) => {
        readEnvelope(answer, { ...call, id })
        return read(answer.body)
      },
    )
  }

  #takeId(): number {
    this.#nextId += 1
    return this.#nextId
  }

  #flush(): void {
    const calls = this.#queue
    this.#queue = []
    const ahead = calls.filter((call) => !call.background)
    const behind = calls.filter((call) => call.background)
    for (const kind of [ahead, behind])
      while (kind.length > 0) void this.#send(kind.splice(0, this.#batchSizeMax))
  }

  async #send(calls: readonly Waiting[]): Promise<void> {
    const [first] = calls
    if (first === undefined) return
    const background = first.background
    const ask = { urgent: true, timeoutMs: CALL_TIMEOUT_MS, background }
    try {
      if (calls.length === 1)
        first.resolve(
          await this.#exchange(
            ask,
            () => bodyOf(first),
            (answer) => readAnswer(answer, first),
          ),
        )
      else await this.#sendBatch(ask, calls)
    } catch (error) {
      for (const call of calls) call.reject(error)
    }
  }

  async #sendBatch(ask: ExchangeAsk, calls: readonly Waiting[]): Promise<void> {
    const refused = await this.#exchange(
      ask,
      () => `[${calls.map(bodyOf).join(',')}]`,
      (answer) => {
        const answers = readAnswers(answer, calls)
        if ('batchSizeMax' in answers) return answers
        let calm: EndpointError | undefined
        for (const [index, call] of calls.entries()) {
          const outcome = answers.outcomes[index]
          if (outcome instanceof EndpointError) {
            call.reject(outcome)
            if (outcome.kind === 'too-fast' || outcome.kind === 'malformed') calm = outcome
          } else call.resolve(outcome?.result)
        }
        // Told to the pace and the score; the calls themselves are settled already.
        if (calm !== undefined) throw calm
        return undefined
      },
    )
    if (refused === undefined) return
    // Remembered: this endpoint takes no batches, or only smaller ones.
    this.#batchSizeMax = Math.max(1, Math.min(refused.batchSizeMax, calls.length - 1))
    const rest = [...calls]
    while (rest.length > 0) await this.#send(rest.splice(0, this.#batchSizeMax))
  }
}

function bodyOf({ id, method, params }: RpcCall & { readonly id: number }): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}
