import { Worker } from 'node:worker_threads'
import { free } from '#base/free.ts'
import { moduleFile } from '#base/package-root.ts'
import { type FilledColumns, LogColumns, PairTable } from '#chain/columns/log-columns.ts'
import type {
  FetchedLogs,
  LogsFetcher,
  LogsRequest,
  ReadLogs,
} from '#chain/endpoints/logs-fetcher.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'

/** Frees an idle thread's memory. */
const IDLE_MS = 30_000

interface PendingRange {
  readonly ask: LogsRequest
  resolve(logs: FetchedLogs): void
  reject(error: unknown): void
}

/** Overlaps reading with storing. Starts on demand; does not keep the process alive. */
export function openLogsThread(): LogsFetcher {
  return new LogsThread()
}

class LogsThread implements LogsFetcher {
  readonly #waiting = new Map<number, PendingRange>()
  #ticket = 0
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined

  fetch(ask: LogsRequest, signal: AbortSignal | undefined): Promise<FetchedLogs> {
    if (signal?.aborted)
      return Promise.reject(new EndpointError('aborted', 'cancelled by the caller'))
    const worker = this.#started()
    this.#ticket += 1
    const ticket = this.#ticket
    const { promise, resolve, reject } = Promise.withResolvers<FetchedLogs>()
    this.#waiting.set(ticket, { ask, resolve, reject })
    const abort = () => send(worker, { kind: 'abort', ticket })
    signal?.addEventListener('abort', abort)
    send(worker, { kind: 'fetch', ticket, ask })
    return promise.finally(() => {
      signal?.removeEventListener('abort', abort)
      this.#settled(worker, ticket)
    })
  }

  release({ body, ...columns }: ReadLogs): void {
    const { buffer } = body
    if (this.#worker !== undefined && buffer instanceof ArrayBuffer)
      send(this.#worker, { kind: 'release', body }, [buffer])
    const { pair, blockNumber, timestamp, txIndex, logIndex, places } = columns
    for (const column of [pair, blockNumber, timestamp, txIndex, logIndex, places])
      if (column !== undefined) free(column)
  }

  #started(): Worker {
    clearTimeout(this.#idle)
    const worker = this.#worker ?? this.#start()
    worker.ref()
    return worker
  }

  #start(): Worker {
    const worker = new Worker(moduleFile('chain/endpoints/logs-worker'), {})
    worker.on('message', (message: FromThread) => this.#take(message))
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', (code) =>
      this.#ended(worker, new Error(`the logs thread exited with code ${code}`)),
    )
    this.#worker = worker
    return worker
  }

  #take(message: FromThread): void {
    const waiting = this.#waiting.get(message.ticket)
    if (waiting === undefined) return
    if (message.kind === 'failed') waiting.reject(fromFailure(message.failure))
    else waiting.resolve(toFetched(waiting.ask, message))
  }

  #settled(worker: Worker, ticket: number): void {
    this.#waiting.delete(ticket)
    if (this.#waiting.size === 0 && worker === this.#worker) this.#rest()
  }

  #rest(): void {
    this.#worker?.unref()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      void this.#worker?.terminate()
      this.#worker = undefined
    }, IDLE_MS).unref()
  }

  /** Pending requests fail; the next starts a new thread. */
  #ended(worker: Worker, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(error)
  }
}

function toFetched(
  { chainId, filter }: LogsRequest,
  { body, columns, wireBytes, end }: Extract<FromThread, { kind: 'logs' }>,
): FetchedLogs {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return { columns: new LogColumns(chainId, PairTable.of(filter), bytes, columns), wireBytes, end }
}

function send(worker: Worker, message: ToThread, moved: ArrayBuffer[] = []): void {
  worker.postMessage(message, moved)
}

export type ToThread =
  | { readonly kind: 'fetch'; readonly ticket: number; readonly ask: LogsRequest }
  | { readonly kind: 'abort'; readonly ticket: number }
  | { readonly kind: 'release'; readonly body: Uint8Array }

export type FromThread =
  | {
      readonly kind: 'logs'
      readonly ticket: number
      readonly body: Uint8Array
      readonly columns: FilledColumns
      readonly end: FetchedLogs['end']
      readonly wireBytes: number
    }
  | { readonly kind: 'failed'; readonly ticket: number; readonly failure: Failure }

/** An error as plain data: a class does not cross threads. */
type Failure =
  | { readonly kind: 'endpoint'; readonly message: string; readonly error: EndpointError }
  | { readonly kind: 'rpc'; readonly message: string; readonly error: RpcError }
  | { readonly kind: 'bug'; readonly error: unknown }

export function toFailure(error: unknown): Failure {
  if (error instanceof EndpointError)
    return { kind: 'endpoint', message: error.message, error: { ...error } }
  if (error instanceof RpcError) return { kind: 'rpc', message: error.message, error: { ...error } }
  return { kind: 'bug', error }
}

function fromFailure(failure: Failure): unknown {
  if (failure.kind === 'bug') return failure.error
  const { message, error } = failure
  return failure.kind === 'rpc'
    ? new RpcError(message, error)
    : new EndpointError(failure.error.kind, message, failure.error)
}
