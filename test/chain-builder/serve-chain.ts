import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerRpc, type NodeState, RefusedCall } from './answer-rpc.ts'
import type { BuiltChain } from './built-chain.ts'
import { noFaults, type TransportFault } from './faults.ts'
import { sendAnswer } from './send-answer.ts'
import type { ServerWatch } from './server-watch.ts'

/** A made-up chain behind a real JSON-RPC socket; its chain and its faults can be switched. */
export interface ServedChain extends NodeState {
  readonly url: string
  /** Every method asked for so far, in order. */
  readonly methods: string[]
  stop(): Promise<void>
}

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

/** Serves a chain on a free port of 127.0.0.1. */
export async function serveChain(
  chain: BuiltChain,
  options: {
    readonly safeDepth?: number
    readonly finalDepth?: number
    readonly watch?: ServerWatch
  } = {},
): Promise<ServedChain> {
  const methods: string[] = []
  const { safeDepth = 4, finalDepth = 8, watch = { busy: () => {}, idle: () => {} } } = options
  const node: NodeState = { chain, safeDepth, finalDepth, faults: noFaults() }
  let requests = 0
  const server = createServer((incoming, outgoing) => {
    watch.busy()
    requests += 1
    const isOther = node.faults.otherFork !== undefined && requests % 2 === 0
    answer({ node, isOther, methods, watch }, incoming, outgoing)
      .catch((error: unknown) => void outgoing.destroy(toError(error)))
      .finally(() => watch.idle())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return Object.assign(node, {
    url: `http://127.0.0.1:${port}`,
    methods,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

interface AnswerDeps {
  readonly node: NodeState
  /** Whether the node on the other fork answers this time. */
  readonly isOther: boolean
  readonly methods: string[]
  readonly watch: ServerWatch
}

async function answer(
  { node, isOther, methods, watch }: AnswerDeps,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const body: RpcCall | readonly RpcCall[] = JSON.parse(Buffer.concat(parts).toString('utf8'))
  const calls = [body].flat() as readonly RpcCall[]
  methods.push(...calls.map((call) => call.method))
  await rest(watch, node.faults.latencyMs())
  const fault = nextFault(node)
  const asked = isOther ? { ...node, chain: node.faults.otherFork ?? node.chain } : node
  const results = calls.map((call) => answerCall(asked, call, fault))
  const text = JSON.stringify(Array.isArray(body) ? results : results[0])
  await sendAnswer({ outgoing, watch, wireForm: node.faults.wireForm }, text, fault)
}

async function rest(watch: ServerWatch, restMs: number): Promise<void> {
  if (restMs <= 0) return
  watch.idle()
  await sleep(restMs)
  watch.busy()
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
    return { ...common, result: answerRpc(node, call.method, call.params ?? []) }
  } catch (error) {
    if (!(error instanceof RefusedCall)) throw error
    return { ...common, error: { code: error.code, message: error.message } }
  }
}
