import { BaseError, createClient, HttpRequestError, http, numberToHex, type Transport } from 'viem'
import type { Address, Hash } from '#domain/address.ts'
import { type BlockTag, type ChainSource, RpcError } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'
import { parseBlock, parseBytes, parseLogs, parseQuantity, parseReceiptLogs } from './parse-rpc.ts'

export interface RpcOptions {
  readonly chainId: number
  /** The preferred endpoint first; the next is asked when one fails. */
  readonly urls: readonly string[]
  /** Called with each failed request, for logs and metrics. */
  readonly onError?: (event: { readonly host: string; readonly message: string }) => void
}

/** A healthy node answers the largest range that we ask for well within this time. */
const REQUEST_TIMEOUT_MS = 10_000

/** Requests of one tick travel together; public endpoints refuse longer batches. */
const BATCH_SIZE_MAX = 50

/** Refusals that mean "ask for less", as the large providers word them. */
const TOO_LARGE =
  /range|too many|too large|exceed|limit(ed)? to|more than \d+ (results|logs)|response size|query returned|timeout|timed out/i

/** Refusals that mean "ask more slowly": a smaller range would only make more requests. */
const TOO_FAST = /too many requests|rate limit|\brate\b|per second|capacity|compute units|throttl/i

/** JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32_601

/** How nodes word it that do not use the code. */
const NO_SUCH_METHOD =
  /method.*(not (found|exist|support|available|allowed)|unsupported)|unsupported method/i

type Request = (call: { method: string; params: readonly unknown[] }) => Promise<unknown>

/** A chain over JSON-RPC (ethereum/execution-apis), with failover between its endpoints. */
export function openRpcSource(options: RpcOptions): ChainSource {
  const endpoints = options.urls.map((url) => ({ host: new URL(url).host, request: open(url) }))
  const request: Request = async (call) => {
    const failures: RpcError[] = []
    for (const endpoint of endpoints) {
      try {
        return await endpoint.request(call)
      } catch (error) {
        const failure = toRpcError(endpoint.host, call.method, error)
        failures.push(failure)
        options.onError?.({ host: endpoint.host, message: failure.message })
      }
    }
    // One that answers less at a time is of more use than one that does not answer.
    throw failures.find((each) => each.tooLarge) ?? failures.at(-1) ?? new RpcError('no endpoint')
  }
  const source = sourceOver(options.chainId, request)
  const pinned = endpoints.map(({ host, request: ask }) =>
    sourceOver(options.chainId, (call) =>
      ask(call).catch((error: unknown) => {
        const failure = toRpcError(host, call.method, error)
        options.onError?.({ host, message: failure.message })
        throw failure
      }),
    ),
  )
  return { ...source, onOneEndpoint: (work) => firstThatCan(pinned, work) }
}

async function firstThatCan<T>(
  sources: readonly ChainSource[],
  work: (source: ChainSource) => Promise<T>,
): Promise<T> {
  let last: unknown = new RpcError('no endpoint')
  for (const source of sources) {
    try {
      return await work(source)
    } catch (error) {
      if (!(error instanceof RpcError) || error.tooLarge) throw error
      last = error
    }
  }
  throw last
}

function open(url: string): Request {
  const transport: Transport = http(url, {
    batch: { batchSize: BATCH_SIZE_MAX },
    timeout: REQUEST_TIMEOUT_MS,
    retryCount: 2,
  })
  const client = createClient({ transport })
  return (call) => client.request(call as Parameters<typeof client.request>[0])
}

function sourceOver(chainId: number, request: Request): ChainSource {
  const source: ChainSource = {
    chainId,
    onOneEndpoint: (work) => work(source),
    async askChainId() {
      return Number(parseQuantity(await request({ method: 'eth_chainId', params: [] })))
    },
    async header(block) {
      const header = parseBlock(
        await request({ method: 'eth_getBlockByNumber', params: [toBlock(block), false] }),
      )
      if (header !== undefined && typeof block === 'number' && header.number !== block)
        throw new RpcError(`asked for block ${block}, got ${header.number}`)
      return header
    },
    async logsInRange(filter, from, to) {
      const range = { fromBlock: numberToHex(from), toBlock: numberToHex(to) }
      return parseLogs(
        await request({ method: 'eth_getLogs', params: [{ ...toRpcFilter(filter), ...range }] }),
        chainId,
      )
    },
    async logsInBlock(filter, blockHash) {
      return parseLogs(
        await request({ method: 'eth_getLogs', params: [{ ...toRpcFilter(filter), blockHash }] }),
        chainId,
      )
    },
    receiptLogs: (hash) => receiptLogs(chainId, request, hash),
    async code(address: Address) {
      return parseBytes(await request({ method: 'eth_getCode', params: [address, 'latest'] }))
    },
    async call(to, data, block) {
      return parseBytes(
        await request({ method: 'eth_call', params: [{ to, data }, toBlock(block ?? 'latest')] }),
      )
    },
  }
  return source
}

async function receiptLogs(chainId: number, request: Request, hash: Hash) {
  try {
    const value = await request({ method: 'eth_getBlockReceipts', params: [hash] })
    if (value === null) throw new RpcError(`the node does not know the receipts of block ${hash}`)
    return parseReceiptLogs(value, chainId)
  } catch (error) {
    if (lacksMethod(error)) return undefined
    throw error
  }
}

/** Not to be mixed up with a node that does not know the block, which proves nothing. */
function lacksMethod(error: unknown): boolean {
  if (!(error instanceof RpcError && error.cause instanceof BaseError)) return false
  const { cause } = error
  const code = 'code' in cause ? cause.code : undefined
  return code === METHOD_NOT_FOUND || NO_SUCH_METHOD.test(cause.details)
}

function toBlock(block: number | BlockTag): string {
  return typeof block === 'number' ? numberToHex(block) : block
}

function toRpcFilter(filter: LogFilter) {
  return { address: filter.addresses, topics: filter.topics }
}

function toRpcError(host: string, method: string, error: unknown): RpcError {
  if (error instanceof RpcError) return error
  const details = detailsOf(error)
  const status = error instanceof HttpRequestError ? error.status : undefined
  const tooFast = status === 429 || TOO_FAST.test(details)
  const tooLarge =
    method === 'eth_getLogs' && !tooFast && (status === 413 || TOO_LARGE.test(details))
  return new RpcError(`${host} ${method}: ${details.slice(0, 300)}`, { cause: error, tooLarge })
}

/** The node's own words; viem's where the node had none, such as on an answer of over 10 MB. */
function detailsOf(error: unknown): string {
  if (!(error instanceof BaseError)) return String(error)
  return error.details || error.shortMessage
}
