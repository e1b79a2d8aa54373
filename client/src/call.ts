import type { Reply } from './reply.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Members of a path, a query or a body; undefined ones are left out. */
export type Input = object

export interface Client {
  readonly baseUrl: string
  /** Sends one request; throws SextonError, PaymentRequiredError, or what `fetch` throws. */
  call<Data, Meta = undefined>(
    method: 'GET' | 'POST',
    path: string,
    input?: Input,
    options?: CallOptions,
  ): Promise<Reply<Data, Meta>>
}
