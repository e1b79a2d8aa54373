import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Address, Hash } from '#base/address.ts'
import type { LogFilter } from '#chain/chain-source.ts'
import type { Timing } from '#chain/endpoints/endpoint.ts'
import { type LocalServer, startLocalServer } from './rpc-server.ts'

/** A JSON-RPC call as it came over the socket. */
export interface ScriptedCall {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** One HTTP request with the calls that it holds. */
export interface ScriptedRequest {
  readonly calls: readonly ScriptedCall[]
  readonly isBatch: boolean
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/** What a node answers; changed while it is served. */
export interface Script {
  /** The result of a call; a thrown Refusal becomes the error object. */
  answer(call: ScriptedCall): unknown
  /** Answers the whole request instead and gives true. */
  intercept?: ((request: ScriptedRequest) => boolean) | undefined
}

export interface ScriptedNode extends LocalServer {
  readonly host: string
  readonly script: Script
  /** Every request so far. */
  readonly requests: readonly (readonly ScriptedCall[])[]
  /** How often a method was called so far. */
  count(method: string): number
}

/** A JSON-RPC error object on its way. */
export class Refusal extends Error {
  readonly code: number
  constructor(message: string, code = -32_000) {
    super(message)
    this.code = code
  }
}

/** Serves JSON-RPC on a free port of 127.0.0.1 as a test says: for faults below the protocol. */
export async function startScriptedNode(script: Script): Promise<ScriptedNode> {
  const requests: (readonly ScriptedCall[])[] = []
  const server = await startLocalServer((incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'))
      const calls = [body].flat() as readonly ScriptedCall[]
      const request = { calls, isBatch: Array.isArray(body), incoming, outgoing }
      requests.push(calls)
      if (script.intercept?.(request) !== true) sendAnswer(script, request)
    })
  })
  return {
    ...server,
    host: new URL(server.url).host,
    script,
    requests,
    count: (method) => requests.flat().filter((call) => call.method === method).length,
  }
}

/** Answers a request as the script says, by the protocol. */
function sendAnswer(script: Script, request: ScriptedRequest): void {
  const text = requestText(script, request)
  request.outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

/** The JSON text of all answers to a request. */
export function requestText(
  script: Script,
  { calls, isBatch }: Pick<ScriptedRequest, 'calls' | 'isBatch'>,
): string {
  const texts = calls.map((call) => answerText(script, call))
  return isBatch ? `[${texts.join(',')}]` : (texts[0] ?? '')
}

/** The JSON text of one answer. A result that is a Buffer or string of JSON is sent as it is. */
export function answerText(script: Script, call: ScriptedCall): string {
  const head = `{"jsonrpc":"2.0","id":${call.id},`
  try {
    const result = script.answer(call)
    const text = result instanceof RawJson ? result.text : JSON.stringify(result)
    return `${head}"result":${text}}`
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return `${head}"error":${JSON.stringify({ code: error.code, message: error.message })}}`
  }
}

/** A result that is JSON already. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const hex = (number: number) => `0x${number.toString(16)}`
const word = (number: number, branch: string) =>
  `0x${branch}${hex(number).slice(2).padStart(62, '0')}`

export interface ScriptedChain {
  chainId: number
  head: number
  finalized: number
  secondsPerBlock: number
  /** Two hex digits; blocks from `forkedAt` on have them in their hashes. */
  branch: string
  forkedAt: number
  logsPerBlock(block: number): number
}

export function scriptedChain(more: Partial<ScriptedChain> = {}): ScriptedChain {
  return {
    ...{ chainId: 1, head: 1_000, finalized: 900, secondsPerBlock: 2, branch: '00' },
    ...{ forkedAt: 0, logsPerBlock: () => 1 },
    ...more,
  }
}

/** A node that serves a chain whose blocks and logs are made on the way. */
export function chainScript(chain: ScriptedChain): Script {
  return {
    answer({ method, params }) {
      const [first] = params
      if (method === 'eth_chainId') return hex(chain.chainId)
      if (method === 'eth_getBlockByNumber') return blockOf(chain, first)
      if (method === 'eth_getLogs')
        return new RawJson(`[${logsOf(chain, rangeOf(first)).join(',')}]`)
      throw new Refusal(`the method ${method} does not exist`, -32_601)
    },
  }
}

const address: Address = `0x${'11'.repeat(20)}`
const topic0: Hash = `0x${'22'.repeat(32)}`

/** What the made logs are of. */
export const scriptedFilter: LogFilter = {
  addresses: [address],
  topics: [[topic0]],
  pairs: [{ address, topic0 }],
}

/** About the bytes of a real transfer. */
const LOG_BYTES = 632

/** The made logs of a range, as JSON. */
export function logsOf(
  chain: ScriptedChain,
  { from, to }: { readonly from: number; readonly to: number },
): string[] {
  const logs: string[] = []
  for (let block = from; block <= Math.min(to, chain.head); block += 1)
    for (let index = 0; index < chain.logsPerBlock(block); index += 1)
      logs.push(logOf(chain, block, index))
  return logs
}

function rangeOf(filter: unknown): { readonly from: number; readonly to: number } {
  const { fromBlock, toBlock } = filter as { readonly fromBlock: string; readonly toBlock: string }
  return { from: Number(fromBlock), to: Number(toBlock) }
}

function logOf(chain: ScriptedChain, block: number, index: number): string {
  const log = {
    ...{ address, topics: [topic0], blockNumber: hex(block), blockHash: hashOf(chain, block) },
    ...{ transactionHash: word(block, 'aa'), transactionIndex: '0x0', logIndex: hex(index) },
  }
  const text = `${JSON.stringify(log).slice(0, -1)},"data":"0x`
  const bytes = Math.floor((LOG_BYTES - text.length) / 2)
  return `${text}${'00'.repeat(bytes)}"}`
}

function hashOf(chain: ScriptedChain, block: number): string {
  return word(block, block >= chain.forkedAt ? chain.branch : '00')
}

function blockOf(chain: ScriptedChain, tag: unknown): unknown {
  const tags: Readonly<Record<string, number>> = { latest: chain.head, finalized: chain.finalized }
  const number = tags[String(tag)] ?? Number(tag)
  if (!(number <= chain.head)) return null
  return {
    number: hex(number),
    hash: hashOf(chain, number),
    parentHash: word(Math.max(0, number - 1), number >= chain.forkedAt ? chain.branch : '00'),
    timestamp: hex(1_700_000_000 + number * chain.secondsPerBlock),
    logsBloom: `0x${'0'.repeat(512)}`,
  }
}

/** Time that a test moves; no wait is longer than a moment. */
export function movableTiming(): Timing & { advance(ms: number): void } {
  let aheadMs = 0
  return {
    clock: () => Date.now() + aheadMs,
    random: () => 0.5,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(done, Math.min(ms, MOMENT_MS))
        function done() {
          clearTimeout(timer)
          signal?.removeEventListener('abort', done)
          // The rest of the wait is skipped, not left out.
          if (!signal?.aborted) aheadMs += Math.max(0, ms - MOMENT_MS)
          resolve()
        }
        signal?.addEventListener('abort', done)
      }),
    advance(ms) {
      aheadMs += ms
    },
  }
}

const MOMENT_MS = 20
