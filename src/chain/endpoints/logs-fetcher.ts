import { fromNumber } from 'ox/Hex'
import type { BlockRef } from '#base/chain.ts'
import { rangeFilter, readEnvelopes, type SentRequest } from '#chain/endpoints/call-source.ts'
import { BodyPool, openPost, type Post } from '#chain/endpoints/http-post.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'
import { type FilledColumns, type LogColumns, PairTable } from '../columns/log-columns.ts'
import { readLogsAnswer } from '../columns/scan-logs.ts'
import type { LogFilter } from '../log-filter.ts'
import { parseBlock } from '../parse-rpc.ts'

/** Plain data, to cross threads. Both ends included. */
export interface LogsRequest {
  readonly url: string
  readonly chainId: number
  /** `id + 1` is used too. */
  readonly id: number
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly timeoutMs: number
}

export interface FetchedLogs {
  readonly columns: LogColumns
  /** The end as the answering node knows it. */
  readonly end: BlockRef
  readonly wireBytes: number
}

export type ReadLogs = { readonly body: Uint8Array } & Partial<FilledColumns>

export interface LogsFetcher {
  /** Throws EndpointError if incomplete, RpcError if impossible. */
  fetch(ask: LogsRequest, signal: AbortSignal | undefined): Promise<FetchedLogs>
  /** Recycles the memory: do not use it afterwards. */
  release(read: ReadLogs): void
}

/**
 * A lagging node returns an empty list, so the same request must show that it has the last block. That call goes
 * first, so that the logs end the body.
 */
export function openLogsFetcher(): LogsFetcher {
  const posts = new Map<string, Post>()
  const pool = new BodyPool()
  return {
    async fetch(ask, signal) {
      const post = posts.get(ask.url) ?? openPost(ask.url)
      posts.set(ask.url, post)
      const { id, filter, from, to, timeoutMs } = ask
      const block = { id: id + 1, method: 'eth_getBlockByNumber' }
      const logs = { id, method: 'eth_getLogs', blocksAsked: to - from + 1 }
      const calls = [
        callOf(block, [fromNumber(to), false]),
        callOf(logs, [rangeFilter(filter, ask)]),
      ]
      const answer = await post(JSON.stringify(calls), { timeoutMs, signal, pool })
      const end = parseBlock(readEnvelopes(answer, { logs, block }))
      if (end === undefined)
        throw new EndpointError(
          'behind',
          `the node returned logs up to ${to} but does not know that block`,
        )
      if (end.number !== to) throw new RpcError(`asked for block ${to}, got ${end.number}`)
      const { body, wireBytes } = answer
      const columns = readLogsAnswer({ ...ask, table: PairTable.of(filter), body })
      return { columns, wireBytes, end: { number: to, hash: end.hash } }
    },
    release: ({ body }) => pool.give(body),
  }
}

function callOf({ id, method }: SentRequest, params: readonly unknown[]): object {
  return { jsonrpc: '2.0', id, method, params }
}
