import { EndpointError } from './endpoint-error.ts'
import type { HttpAnswer } from './http-post.ts'
import { readAnswer, readAnswers } from './rpc-answer.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Errors of `read` count against the endpoint. */
export type Exchange = <T>(
  body: string,
  how: { readonly timeoutMs: number; readonly background: boolean },
  read: (answer: HttpAnswer) => T,
) => Promise<T>

const CALL_TIMEOUT_MS = 10_000

const BATCH_SIZE_MAX = 50

interface PendingCall extends RpcCall {
  readonly id: number
  readonly background: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

export class JsonRpc {
  readonly #exchange: Exchange
  #queue: PendingCall[] = []
  #isFlushing = false
  #nextId = 1
  #batchSizeMax = BATCH_SIZE_MAX

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

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

  async #send(calls: readonly PendingCall[]): Promise<void> {
    const [first] = calls
    if (first === undefined) return
    const background = first.background
    const how = { timeoutMs: CALL_TIMEOUT_MS, background }
    try {
      if (calls.length === 1)
        first.resolve(
          await this.#exchange(bodyOf(first), how, (answer) => readAnswer(answer, first)),
        )
      else await this.#sendBatch(how, calls)
    } catch (error) {
      for (const call of calls) call.reject(error)
    }
  }

  async #sendBatch(how: Parameters<Exchange>[1], calls: readonly PendingCall[]): Promise<void> {
    const refused = await this.#exchange(`[${calls.map(bodyOf).join(',')}]`, how, (answer) => {
      const answers = readAnswers(answer, calls)
      if ('batchSizeMax' in answers) return answers
      let slowDown: EndpointError | undefined
      for (const [index, call] of calls.entries()) {
        const outcome = answers.outcomes[index]
        if (outcome instanceof EndpointError) {
          call.reject(outcome)
          if (outcome.kind === 'too-fast' || outcome.kind === 'malformed') slowDown = outcome
        } else call.resolve(outcome?.result)
      }
      // Reaches the limiter and health; the calls have their answers.
      if (slowDown !== undefined) throw slowDown
      return undefined
    })
    if (refused === undefined) return
    this.#batchSizeMax = Math.max(1, Math.min(refused.batchSizeMax, calls.length - 1))
    const rest = [...calls]
    while (rest.length > 0) await this.#send(rest.splice(0, this.#batchSizeMax))
  }
}

function bodyOf({ id, method, params }: RpcCall & { readonly id: number }): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}
