import { type Hex, numberToHex } from 'viem'
import { benchChain } from './bench-ecosystem.ts'
import { type BlockAnswerDeps, blockAnswer } from './block-answer.ts'
import { callAnswer, codeAnswer } from './call-answer.ts'
import { type ProviderLimits, type RpcRefusal, refusalOf } from './provider-limits.ts'
import { type LogQuery, type LogRun, selectLogs } from './select-logs.ts'

export interface AnswerDeps extends BlockAnswerDeps {
  readonly limits: ProviderLimits
  /** So many blocks at the head are not final; half as many are not safe. */
  readonly finalDepth: number
  onRefused(): void
}

/** A JSON-RPC 2.0 call. */
export interface RpcCall {
  readonly id: number | string | null
  readonly method: string
  readonly params?: readonly unknown[]
}

type Outcome = { readonly result: unknown } | { readonly pieces: readonly Buffer[] } | RpcRefusal

/** Runs shorter than this on average are copied together: a write per log would cost more. */
const RUN_BYTES_MIN = 8_192

/** Answers one call as pieces of text; logs are slices of what the chain holds ready. */
export function answerRpc(deps: AnswerDeps, call: RpcCall): readonly Buffer[] {
  const id = JSON.stringify(call.id ?? null)
  const outcome = outcomeOf(deps, call)
  if ('pieces' in outcome)
    return [
      Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":[`),
      ...outcome.pieces,
      Buffer.from(']}'),
    ]
  const member = 'result' in outcome ? { result: outcome.result } : { error: outcome }
  return [Buffer.from(`{"jsonrpc":"2.0","id":${id},${JSON.stringify(member).slice(1)}`)]
}

function outcomeOf(deps: AnswerDeps, { method, params = [] }: RpcCall): Outcome {
  const { chain } = deps
  switch (method) {
    case 'eth_chainId':
      return { result: numberToHex(benchChain.id) }
    case 'net_version':
      return { result: String(benchChain.id) }
    case 'web3_clientVersion':
      return { result: 'synthetic-chain' }
    case 'eth_blockNumber':
      return { result: numberToHex(chain.blocks.head) }
    case 'eth_getBlockByNumber':
      return { result: blockAnswer(deps, blockNumber(deps, params[0]), params[1] === true) }
    case 'eth_getBlockByHash':
      return {
        result: blockAnswer(deps, chain.blocks.numberOf(String(params[0])), params[1] === true),
      }
    case 'eth_getLogs':
      return logsOutcome(deps, record(params[0]))
    case 'eth_getCode':
      return { result: codeAnswer(String(params[0])) }
    case 'eth_call':
      return callOutcome(deps, params)
    default:
      return { code: -32_601, message: `the method ${method} does not exist/is not available` }
  }
}

function callOutcome(deps: AnswerDeps, params: readonly unknown[]): Outcome {
  const { to, data, input } = record(params[0])
  const call = { to: String(to), data: String(data ?? input) as Hex }
  const result = callAnswer(deps.chain, call, blockNumber(deps, params[1] ?? 'latest'))
  return result === undefined ? { code: 3, message: 'execution reverted' } : { result }
}

function logsOutcome(deps: AnswerDeps, query: Readonly<Record<string, unknown>>): Outcome {
  const { blocks, logs } = deps.chain
  const range = rangeOf(deps, query)
  if (range === undefined) return { code: -32_000, message: 'unknown block' }
  if (range.from > range.to || range.to > blocks.head)
    return { code: -32_602, message: 'block range extends beyond current head block' }
  const found = selectLogs(deps.chain, query as LogQuery, range)
  const pieces = found.runs.flatMap(({ first, last }: LogRun) => logs.slices(first, last))
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const isRange = query.blockHash === undefined
  const refusal = refusalOf(deps.limits, { ...range, logs: found.count, bytes })
  if (isRange && refusal !== undefined) {
    deps.onRefused()
    return refusal
  }
  return { pieces: withoutLastComma(joinShort(pieces, bytes)) }
}

function rangeOf(deps: AnswerDeps, query: Readonly<Record<string, unknown>>) {
  if (query.blockHash === undefined)
    return {
      from: blockNumber(deps, query.fromBlock ?? 'latest'),
      to: blockNumber(deps, query.toBlock ?? 'latest'),
    }
  const number = deps.chain.blocks.numberOf(String(query.blockHash))
  return number === undefined ? undefined : { from: number, to: number }
}

function joinShort(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  return pieces.length > 1 && bytes / pieces.length < RUN_BYTES_MIN
    ? [Buffer.concat(pieces, bytes)]
    : pieces
}

function withoutLastComma(pieces: readonly Buffer[]): readonly Buffer[] {
  return pieces.map((piece, index) => (index === pieces.length - 1 ? piece.subarray(0, -1) : piece))
}

/** The height that a tag or a hex number means (ethereum/execution-apis, BlockNumberOrTag). */
function blockNumber({ chain, finalDepth }: AnswerDeps, tag: unknown): number {
  const { head } = chain.blocks
  switch (tag) {
    case 'latest':
    case 'pending':
      return head
    case 'safe':
      return Math.max(0, head - Math.floor(finalDepth / 2))
    case 'finalized':
      return Math.max(0, head - finalDepth)
    case 'earliest':
      return 0
    default:
      return Number(tag)
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
