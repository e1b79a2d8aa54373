import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readJson } from '../bench-process.ts'
import type { ChainTruth } from './chain-truth.ts'
import type { ServeOptions, ServerCounts } from './serve-chain.ts'

/** A synthetic chain behind JSON-RPC, in a process of its own. */
export interface ChainServer {
  readonly url: string
  /** Since the last look. */
  counts(): Promise<ServerCounts>
  truth(): Promise<ChainTruth>
  stop(): Promise<void>
}

const PROGRAM = join(import.meta.dirname, 'serve-chain.ts')

/** Starts a server and waits until its chain is made. */
export async function startChainServer(options: Partial<ServeOptions>): Promise<ChainServer> {
  const flags = Object.entries(options).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    String(value),
  ])
  const child = spawn(process.execPath, [PROGRAM, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const [url] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
  if (typeof url !== 'string') throw new Error('the chain server ended before it was ready')
  return {
    url,
    counts: () => readJson(`${url}/counts`),
    truth: () => readJson(`${url}/truth`),
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
