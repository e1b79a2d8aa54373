import { ZERO_ADDRESS } from '#domain/address.ts'
import { RpcError } from '../rpc-error.ts'
import { rangeFilter } from './call-source.ts'
import { EndpointError } from './endpoint-error.ts'
import type { Post } from './http-post.ts'
import { readAnswer } from './rpc-answer.ts'

/** As long as the second range of a history would be, whose refusal would cost a round trip. */
const BLOCKS = 16_000

/** So far below the head every node behind an address knows the blocks. */
const BELOW_HEAD = 1_000

/** A refusal may name other numbers; whoever allows less is found out by a real range. */
const BELIEVED_MIN = 500

/** Nobody waits for it. */
const TIMEOUT_MS = 5_000

const ID = 1

/** No log has such a topic, so that the answer is small where the range is allowed. */
const NO_LOG = { addresses: [ZERO_ADDRESS], topics: [[`0x${'f'.repeat(64)}`]] } as const

/**
 * Asks for a wide range without logs: who caps ranges mostly names the cap (`eth_getLogs`). Undefined
 * where none is named, and on a chain that is shorter. Whatever else is answered counts for nothing, since nobody
 * needs this range.
 */
export async function askRangeMax(post: Post, headNumber: number): Promise<number | undefined> {
  const to = headNumber - BELOW_HEAD
  const from = to - BLOCKS + 1
  if (from < 0) return undefined
  const method = 'eth_getLogs'
  const call = { jsonrpc: '2.0', id: ID, method, params: [rangeFilter(NO_LOG, { from, to })] }
  try {
    const answer = await post(JSON.stringify(call), { timeoutMs: TIMEOUT_MS, background: true })
    readAnswer(answer, { id: ID, method, blocksAsked: BLOCKS })
    return undefined
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const blocksMax = error instanceof EndpointError ? error.blocksMax : undefined
    return blocksMax !== undefined && blocksMax >= BELIEVED_MIN ? blocksMax : undefined
  }
}
