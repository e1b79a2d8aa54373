import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ChainTruth } from './chain-truth.ts'
import type { ServerCounts } from './server-counts.ts'

/** A synthetic chain behind JSON-RPC, in a process of its own. */
export interface ChainServer {
  readonly url: string
  /** Seconds that making the chain took. */
  readonly builtSeconds: number
  readonly pid: number
  counts(): Promise<ServerCounts>
  resetCounts(): Promise<void>
  truth(): Promise<ChainTruth>
  stop(): Promise<void>
}

/** Options of `serve-chain.ts` by name; true stands for a flag. */
export type ServerOptions = Readonly<Record<string, string | number | true>>

const PROGRAM = join(import.meta.dirname, 'serve-chain.ts')

/** Starts a server and waits until its chain is made. */
export async function startChainServer(options: ServerOptions): Promise<ChainServer> {
  const flags = Object.entries(options).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  )
  const child = spawn(process.execPath, [PROGRAM, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit')
  const [line] = await Promise.race([once(lines, 'line'), ended])
  if (typeof line !== 'string') throw new Error('the chain server ended before it was ready')
  const { url, seconds }: { readonly url: string; readonly seconds: number } = JSON.parse(line)
  const read = async (path: string, method = 'GET') => {
    const answer = await fetch(url + path, { method })
    return await answer.json()
  }
  return {
    url,
    builtSeconds: seconds,
    pid: child.pid ?? 0,
    counts: () => read('/counts') as Promise<ServerCounts>,
    truth: () => read('/truth') as Promise<ChainTruth>,
    async resetCounts() {
      await read('/counts/reset', 'POST')
    },
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
