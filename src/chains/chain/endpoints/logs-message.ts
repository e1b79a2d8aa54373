import type { FilledColumns } from '../columns/log-columns.ts'
import { RpcError } from '../rpc-error.ts'
import { EndpointError } from './endpoint-error.ts'
import type { FetchedLogs, LogsRequest } from './logs-fetcher.ts'

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

type Failure =
  | {
      readonly kind: 'endpoint'
      readonly message: string
      readonly error: Pick<
        EndpointError,
        'kind' | 'tooLarge' | 'retryAfterMs' | 'blocksMax' | 'blocksThatFit'
      >
    }
  | {
      readonly kind: 'rpc'
      readonly message: string
      readonly error: Pick<RpcError, 'tooLarge' | 'lie'>
    }
  | { readonly kind: 'bug'; readonly error: unknown }

export function toFailure(error: unknown): Failure {
  if (error instanceof EndpointError) {
    const { kind, tooLarge, retryAfterMs, blocksMax, blocksThatFit, message } = error
    const fields = { kind, tooLarge, retryAfterMs, blocksMax, blocksThatFit }
    return { kind: 'endpoint', message, error: fields }
  }
  if (error instanceof RpcError) {
    const { tooLarge, lie, message } = error
    return { kind: 'rpc', message, error: { tooLarge, lie } }
  }
  return { kind: 'bug', error }
}

export function fromFailure(failure: Failure): unknown {
  switch (failure.kind) {
    case 'endpoint':
      return new EndpointError(failure.error.kind, failure.message, failure.error)
    case 'rpc':
      return new RpcError(failure.message, failure.error)
    case 'bug':
      return failure.error
  }
}
