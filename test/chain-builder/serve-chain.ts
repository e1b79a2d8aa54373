import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LocalServer, type RpcCall, readRpcRequest, startLocalServer } from '../rpc-server.ts'
import { answerRpc, type NodeState, RefusedCall } from './answer-rpc.ts'
import type { BuiltChain } from './built-chain.ts'
import { noFaults, type TransportFault } from './faults.ts'
import { sendAnswer } from './send-answer.ts'

/** A made-up chain behind a real JSON-RPC socket; its chain and its faults can be switched. */
export interface ServedChain extends NodeState, LocalServer {
  /** Every method asked for so far, in order. */
  readonly methods: string[]
}

/** Serves a chain on a free port of 127.0.0.1. */
export async function serveChain(
  chain: BuiltChain,
  options: {
    readonly safeDepth?: number
    readonly finalDepth?: number
  } = {},
): Promise<ServedChain> {
  const methods: string[] = []
  const { safeDepth = 4, finalDepth = 8 } = options
  const node: NodeState = { chain, safeDepth, finalDepth, faults: noFaults() }
  let requests = 0
  const server = await startLocalServer((incoming, outgoing) => {
    requests += 1
    const isOther = node.faults.otherFork !== undefined && requests % 2 === 0
    answer({ node, isOther, methods }, incoming, outgoing).catch(
      (error: unknown) => void outgoing.destroy(toError(error)),
    )
  })
  return Object.assign(node, { ...server, methods })
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

interface AnswerDeps {
  readonly node: NodeState
  /** Whether the node on the other fork answers this time. */
  readonly isOther: boolean
  readonly methods: string[]
}

async function answer(
  { node, isOther, methods }: AnswerDeps,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { calls, answerWith } = await readRpcRequest(incoming)
  methods.push(...calls.map((call) => call.method))
  const fault = nextFault(node)
  const asked = isOther ? { ...node, chain: node.faults.otherFork ?? node.chain } : node
  const results = calls.map((call) => answerCall(asked, call, fault))
  await sendAnswer({ outgoing, wireForm: node.faults.wireForm }, answerWith(results), fault)
}

function nextFault({ faults: { transport } }: NodeState): TransportFault | undefined {
  if (transport === undefined || transport.times <= 0) return undefined
  transport.times -= 1
  return transport
}

function answerCall(node: NodeState, call: RpcCall, fault: TransportFault | undefined): object {
  const id = fault?.kind === 'wrong-id' ? call.id + 1_000_000 : call.id
  const common = { jsonrpc: '2.0', id }
  if (fault?.kind === 'null-result') return { ...common, result: null }
  try {
    return { ...common, result: answerRpc(node, call.method, call.params) }
  } catch (error) {
    if (!(error instanceof RefusedCall)) throw error
    return { ...common, error: { code: error.code, message: error.message } }
  }
}
