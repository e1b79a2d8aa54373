import { fromNumber } from 'ox/Hex'
import {
  BodyPool,
  type HttpAnswer,
  openPost,
  type Post,
} from '#chains/chain/endpoints/http-post.ts'
import { readEnvelope, readEnvelopes } from '#chains/chain/endpoints/json-rpc.ts'
import { EndpointError, type FailureKind, RpcError } from '#chains/chain/rpc-error.ts'
import type { BlockRef } from '#domain/chain.ts'
import type { FilledColumns, LogColumns } from '../columns/log-columns.ts'
import { PairTable } from '../columns/pair-table.ts'
import { readLogsAnswer } from '../columns/read-answer.ts'
import type { LogFilter } from '../log-filter.ts'
import { parseBlock } from '../parse-rpc.ts'
import { rangeFilter } from './call-source.ts'

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
  /** The end as the answering node knows it; undefined if not asked. */
  readonly end: BlockRef | undefined
  readonly wireBytes: number
}

export type ReadLogs = { readonly body: Uint8Array } & Partial<FilledColumns>

export interface LogsFetcher {
  /** Throws EndpointError if incomplete, RpcError if impossible. */
  fetch(ask: LogsRequest, signal: AbortSignal | undefined): Promise<FetchedLogs>
  /** Recycles the memory: do not use it afterwards. */
  release(read: ReadLogs): void
}

export function openLogsFetcher(): LogsFetcher {
  const posts = new Map<string, Post>()
  const pool = new BodyPool()
  const supports = new Map<string, BatchSupport>()
  return {
    async fetch(ask, signal) {
      const post = posts.get(ask.url) ?? openPost(ask.url)
      posts.set(ask.url, post)
      const support = supports.get(ask.url) ?? new BatchSupport()
      supports.set(ask.url, support)
      return support.learn(async (isAlone) => {
        const calls = isAlone ? callForLogs(ask) : `[${callForEnd(ask)},${callForLogs(ask)}]`
        const answer = await post(calls, { timeoutMs: ask.timeoutMs, signal, pool })
        if (isAlone) readEnvelope(answer, askedOf(ask).logs)
        const end = isAlone ? undefined : readEnd(ask, answer)
        return { ...readLogs(ask, answer), end }
      })
    },
    release: ({ body }) => pool.give(body),
  }
}

function askedOf({ id, from, to }: LogsRequest) {
  return {
    logs: { id, method: 'eth_getLogs', blocksAsked: to - from + 1 },
    block: { id: id + 1, method: 'eth_getBlockByNumber' },
  } as const
}

function callForLogs(ask: LogsRequest): string {
  const { id, method } = askedOf(ask).logs
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: [rangeFilter(ask.filter, ask)] })
}

/**
 * A lagging node returns an empty list, so the same request must show that it has the last block.
 * This call goes first, so that the logs end the body.
 */
function callForEnd(ask: LogsRequest): string {
  const { id, method } = askedOf(ask).block
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: [fromNumber(ask.to), false] })
}

function readEnd(ask: LogsRequest, answer: HttpAnswer): BlockRef {
  const { to } = ask
  const header = parseBlock(readEnvelopes(answer, askedOf(ask)))
  if (header === undefined)
    throw new EndpointError(
      'behind',
      `the node returned logs up to ${to} but does not know that block`,
    )
  if (header.number !== to) throw new RpcError(`asked for block ${to}, got ${header.number}`)
  return { number: header.number, hash: header.hash }
}

function readLogs({ id, chainId, filter, from, to }: LogsRequest, { body, wireBytes }: HttpAnswer) {
  const table = PairTable.of(filter)
  return { columns: readLogsAnswer({ id, chainId, table, body, from, to }), wireBytes }
}

/** Then tries a single call, if no batch ever worked. */
const FAILURES_MAX = 3

/** JSON-RPC 2.0, 5.1: -32600 is "Invalid Request". */
const NO_BATCHES = /\bbatch|invalid request|HTTP 405/i

const OTHER_REASONS: readonly FailureKind[] = ['too-fast', 'too-large', 'behind', 'aborted']

const TRY_AGAIN_AFTER = 50

/**
 * One or two calls per request. Once a batch has worked, batching stays: a stray refusal must not
 * disable the check that the second call makes.
 */
export class BatchSupport {
  #hasTakenTwo = false
  #failuresInRow = 0
  #takenAlone = 0

  async learn<T>(ask: (isAlone: boolean) => Promise<T>): Promise<T> {
    const isAlone = !this.#hasTakenTwo && this.#failuresInRow >= FAILURES_MAX
    try {
      const answer = await ask(isAlone)
      this.#answered(isAlone)
      return answer
    } catch (error) {
      if (error instanceof EndpointError) this.#failed(error, isAlone)
      throw error
    }
  }

  #answered(wasAlone: boolean): void {
    if (!wasAlone) this.#hasTakenTwo = true
    else this.#takenAlone += 1
    if (wasAlone && this.#takenAlone % TRY_AGAIN_AFTER === 0) this.#failuresInRow = FAILURES_MAX - 1
  }

  #failed({ kind, message }: EndpointError, wasAlone: boolean): void {
    if (kind === 'behind') this.#hasTakenTwo = true
    if (OTHER_REASONS.includes(kind)) return
    if (wasAlone) this.#failuresInRow = 0
    else if (NO_BATCHES.test(message)) this.#failuresInRow = FAILURES_MAX
    else this.#failuresInRow += 1
  }
}
