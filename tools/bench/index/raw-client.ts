import { execFile } from 'node:child_process'
import { Agent, request } from 'node:http'
import { promisify } from 'node:util'
import { readBody } from '#test/rpc-server.ts'
import type { ChainServer } from './chain-server.ts'
import { wantedFilter } from './event-kinds.ts'
import type { Figures } from './figures.ts'

export interface RawOptions {
  readonly inFlight: number
  readonly blocksMax: number
}

/** Runs the plainest client in a process of its own: nothing that parses JSON can be faster. */
export async function runRaw(server: ChainServer, options: RawOptions): Promise<Figures> {
  const { logs, payments, head } = await server.truth()
  await server.counts()
  const input = JSON.stringify({ ...options, url: server.url, head })
  const startedMs = performance.now()
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, input])
  const seconds = (performance.now() - startedMs) / 1_000
  const { seen, ...figures } = JSON.parse(stdout)
  if (seen !== logs - payments) throw new Error(`raw saw ${seen} logs, not ${logs - payments}`)
  return { ...figures, logs, seconds, counts: await server.counts() }
}

if (import.meta.main) {
  const { userCPUTime, systemCPUTime, seen, maxRSS } = await download(
    JSON.parse(process.argv[2] ?? ''),
  )
  const figures = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMegabytes: maxRSS / 1024 }
  process.stdout.write(JSON.stringify({ seen, ...figures }))
}

/** Fetches and parses every log of the ecosystem but payments, so many requests at a time. */
async function download(input: RawOptions & { readonly url: string; readonly head: number }) {
  const agent = new Agent({ keepAlive: true })
  let next = 0
  let seen = 0
  const work = async () => {
    while (next <= input.head) {
      const from = next
      next += input.blocksMax
      const body = await post(agent, input.url, callOf(from, Math.min(next - 1, input.head)))
      const { result, error } = JSON.parse(body.toString('latin1'))
      if (result === undefined) throw new Error(`refused: ${JSON.stringify(error)}`)
      seen += result.length
    }
  }
  await Promise.all(Array.from({ length: input.inFlight }, work))
  agent.destroy()
  return { ...process.resourceUsage(), seen }
}

function callOf(from: number, to: number): string {
  const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }
  const params = [{ ...wantedFilter, ...range }]
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params })
}

function post(agent: Agent, url: string, body: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const headers = { 'content-type': 'application/json' }
  request(url, { agent, method: 'POST', headers }, (incoming) => {
    readBody(incoming).then(resolve, reject)
  })
    .on('error', reject)
    .end(body)
  return promise
}
