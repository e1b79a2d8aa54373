import { once } from 'node:events'
import { createServer } from 'node:http'

/** One JSON-RPC call on its way to a real node. */
export interface PassedCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** What a lying node says instead of the true result; throw a Refused to refuse. */
export type Lie = (call: PassedCall, result: unknown) => unknown

/** An error object of JSON-RPC 2.0. */
export class Refused extends Error {
  readonly code: number
  constructor(message: string, code = -32_601) {
    super(message)
    this.code = code
  }
}

/** A node that passes every call on to a real one and changes what it likes of the answers. */
export interface LyingNode {
  readonly url: string
  /** The real node. */
  target: string
  /** Honest while undefined. */
  lie: Lie | undefined
  /** Whether it answers at all. */
  isDown: boolean
  /** Methods asked so far, in order. */
  readonly methods: string[]
  /** HTTP requests, and bytes of their answers. */
  readonly traffic: { requests: number; bytes: number }
  stop(): Promise<void>
}

interface Wire extends PassedCall {
  readonly id: number
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
  const answer = async (body: string): Promise<string> => {
    const asked: Wire | readonly Wire[] = JSON.parse(body)
    const response = await fetch(state.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const truth: WireAnswer | readonly WireAnswer[] = JSON.parse(await response.text())
    const calls = [asked].flat()
    state.methods.push(...calls.map(({ method }) => method))
    const told = calls.map((call) => {
      const found = [truth].flat().find(({ id }) => id === call.id)
      return change(state.lie, call, found ?? { id: call.id })
    })
    return JSON.stringify(Array.isArray(asked) ? told : told[0])
  }
  const server = createServer(async (incoming, outgoing) => {
    try {
      if (state.isDown) throw new Error('down')
      const parts: Buffer[] = []
      for await (const part of incoming) parts.push(part)
      const text = await answer(Buffer.concat(parts).toString('utf8'))
      state.traffic.requests += 1
      state.traffic.bytes += Buffer.byteLength(text)
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text)
    } catch {
      outgoing.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

function change(lie: Lie | undefined, call: Wire, truth: WireAnswer): object {
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
