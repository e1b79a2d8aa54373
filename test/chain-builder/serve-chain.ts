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
  const server = await startLocalServer((incoming, outgoing) => {
    answer({ node, methods }, incoming, outgoing).catch(
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
  readonly methods: string[]
}

async function answer(
  { node, methods }: AnswerDeps,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { calls, answerWith } = await readRpcRequest(incoming)
  methods.push(...calls.map((call) => call.method))
  const fault = nextFault(node)
  const results = calls.map((call) => answerCall(node, call, fault))
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
