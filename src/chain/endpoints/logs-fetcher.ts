import type { FilledColumns, LogColumns } from '../columns/log-columns.ts'
import { PairTable } from '../columns/pair-table.ts'
import { readLogsAnswer } from '../columns/read-answer.ts'
import type { LogFilter } from '../log-filter.ts'
import { BodyPool } from './body-pool.ts'
import { rangeFilter } from './call-source.ts'
import { openPost, type Post } from './http-post.ts'
import { readEnvelope } from './rpc-answer.ts'

/** One `eth_getLogs` over a range of blocks, both ends included. Plain data: it crosses threads. */
export interface LogsAsk {
  readonly url: string
  readonly chainId: number
  /** The JSON-RPC id, which the answer must repeat. */
  readonly id: number
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  /** For everything from the connection to the last byte. */
  readonly timeoutMs: number
}

export interface FetchedLogs {
  readonly columns: LogColumns
  /** As they came over the line. */
  readonly wireBytes: number
}

/** An answer that was read. */
export type ReadLogs = { readonly body: Uint8Array } & Partial<FilledColumns>

/** Fetches histories and reads them into columns. */
export interface LogsFetcher {
  /** Histories will be asked for soon. */
  prepare(): void
  /** Throws EndpointError when no whole answer comes, RpcError when it cannot be true. */
  fetch(ask: LogsAsk, signal: AbortSignal | undefined): Promise<FetchedLogs>
  /** Nothing may look at the body and its columns any more: their memory is for those to come. */
  release(read: ReadLogs): void
}

/** Fetches and reads on the thread that calls. */
export function openLogsFetcher(): LogsFetcher {
  const posts = new Map<string, Post>()
  const pool = new BodyPool()
  return {
    prepare() {},
    async fetch(ask, signal) {
      const post = posts.get(ask.url) ?? openPost(ask.url)
      posts.set(ask.url, post)
      const answer = await post(bodyOf(ask), { timeoutMs: ask.timeoutMs, signal, pool })
      const blocksAsked = ask.to - ask.from + 1
      readEnvelope(answer, { id: ask.id, method: METHOD, blocksAsked })
      const { chainId, from, to } = ask
      const table = PairTable.of(ask.filter)
      const columns = readLogsAnswer({ chainId, table, body: answer.body, from, to })
      return { columns, wireBytes: answer.wireBytes }
    },
    release: ({ body }) => pool.give(body),
  }
}

const METHOD = 'eth_getLogs'

function bodyOf({ id, filter, from, to }: LogsAsk): string {
  const params = [rangeFilter(filter, { from, to })]
  return JSON.stringify({ jsonrpc: '2.0', id, method: METHOD, params })
}
