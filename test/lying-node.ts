import {
  type LocalServer,
  type RpcCall,
  type RpcRequest,
  readRpcRequest,
  startLocalServer,
} from './rpc-server.ts'

/** A JSON-RPC call forwarded to a real node. */
export type PassedCall = Pick<RpcCall, 'method' | 'params'>

/** Returns what the node answers instead of the true result; throw Refused for an error. */
export type Lie = (call: PassedCall, result: unknown) => unknown

/** A JSON-RPC 2.0 error object. */
export class Refused extends Error {
  readonly code: number
  constructor(message: string, code = -32_601) {
    super(message)
    this.code = code
  }
}

/** A node that forwards every call to a real one and may falsify the answers. */
export interface LyingNode extends LocalServer {
  /** The real node. */
  target: string
  /** Honest while undefined. */
  lie: Lie | undefined
  /** Whether it drops every connection. */
  isDown: boolean
  /** Methods asked so far, in order. */
  readonly methods: string[]
  /** Number of HTTP requests, and size of their answers. */
  readonly traffic: { requests: number; bytes: number }
}

interface WireAnswer {
  readonly id: number
  readonly result?: unknown
  readonly error?: unknown
}

/** Starts one on a free port of 127.0.0.1. */
export async function startLyingNode(target = ''): Promise<LyingNode> {
  const state: Pick<LyingNode, 'target' | 'lie' | 'isDown' | 'methods' | 'traffic'> = {
    target,
    lie: undefined,
    isDown: false,
    methods: [],
    traffic: { requests: 0, bytes: 0 },
  }
  const answer = async ({ body, calls, answerWith }: RpcRequest): Promise<string> => {
    const response = await fetch(state.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const truth: WireAnswer | readonly WireAnswer[] = JSON.parse(await response.text())
    state.methods.push(...calls.map(({ method }) => method))
    const answers = calls.map((call) => {
      const found = [truth].flat().find(({ id }) => id === call.id)
      return change(state.lie, call, found ?? { id: call.id })
    })
    return answerWith(answers)
  }
  const server = await startLocalServer(async (incoming, outgoing) => {
    try {
      if (state.isDown) throw new Error('down')
      const text = await answer(await readRpcRequest(incoming))
      state.traffic.requests += 1
      state.traffic.bytes += Buffer.byteLength(text)
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text)
    } catch {
      outgoing.destroy()
    }
  })
  return Object.assign(state, server)
}

function change(lie: Lie | undefined, call: RpcCall, truth: WireAnswer): object {
  if (lie === undefined) return { jsonrpc: '2.0', ...truth }
  try {
    const result = lie(call, truth.result)
    if (truth.error !== undefined && result === undefined) return { jsonrpc: '2.0', ...truth }
    return { jsonrpc: '2.0', id: call.id, result }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { jsonrpc: '2.0', id: call.id, error: { code: error.code, message: error.message } }
  }
}
