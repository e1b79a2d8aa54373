import { sleep } from '#base/async.ts'
import { secretsOf, withoutSecrets } from '#chain/endpoints/endpoint.ts'
import { openPost } from '#chain/endpoints/http-post.ts'
import { readAnswer } from '#chain/endpoints/json-rpc.ts'
import { EndpointError } from '#chain/rpc-error.ts'

/** One JSON-RPC endpoint, asked directly: no failover, and errors as the node worded them. */
export interface Node {
  readonly url: string
  readonly host: string
  /** Throws EndpointError. Waits and asks again while the node is rate-limiting. */
  ask(method: string, ...params: readonly unknown[]): Promise<unknown>
}

const TIMEOUT_MS = 15_000

/** Together about eight seconds, longer than the windows of public rate limits. */
const WAITS_MS = [500, 1_000, 2_000, 4_000]

/** Longer waits are reported instead. */
const WAIT_MAX_MS = 60_000

export function openNode(url: string): Node {
  const post = openPost(url)
  const secrets = secretsOf(url)
  let lastId = 0
  const askOnce = async (method: string, params: readonly unknown[]) => {
    lastId += 1
    const id = lastId
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    try {
      return readAnswer(await post(body, { timeoutMs: TIMEOUT_MS }), { id, method })
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error
      throw new EndpointError(error.kind, withoutSecrets(error.message, secrets), error)
    }
  }
  const ask = async (method: string, ...params: readonly unknown[]) => {
    for (const waitMs of WAITS_MS)
      try {
        return await askOnce(method, params)
      } catch (error) {
        if (!(error instanceof EndpointError) || error.kind !== 'too-fast') throw error
        if ((error.retryAfterMs ?? 0) > WAIT_MAX_MS) throw error
        await sleep(error.retryAfterMs ?? waitMs)
      }
    return askOnce(method, params)
  }
  return { url, host: new URL(url).host, ask }
}
