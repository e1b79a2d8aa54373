import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'
import type { BlockRange, RawPlan } from './raw-plan.ts'

/** What the plainest client needed: nothing can be faster that parses JSON. */
export interface RawResult {
  /** From the first request to the last parsed answer. */
  readonly seconds: number
  readonly logs: number
  readonly bytes: number
  readonly requests: number
  readonly cpuSeconds: number
  readonly peakMegabytes: number
}

/** Answers of a few megabytes are parsed fastest. */
const LOGS_PER_RANGE = 8_000

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { url: text, 'in-flight': text, 'max-range': text } })
const result = await download()
process.stdout.write(`${JSON.stringify(result)}\n`)

/** Fetches and parses every log of the ecosystem, so many requests at a time. */
async function download(): Promise<RawResult> {
  const url = values.url ?? ''
  const { filter, ranges } = await planned(url)
  const agent = new Agent({ keepAlive: true })
  const startedMs = performance.now()
  let next = 0
  let logs = 0
  let bytes = 0
  const work = async () => {
    for (let range = ranges[next]; range !== undefined; range = ranges[next]) {
      next += 1
      const body = await post(agent, url, toCall(filter, range))
      bytes += body.length
      logs += countLogs(body)
    }
  }
  await Promise.all(Array.from({ length: Number(values['in-flight'] ?? 1) }, work))
  const seconds = (performance.now() - startedMs) / 1000
  agent.destroy()
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  const used = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMegabytes: maxRSS / 1024 }
  return { seconds, logs, bytes, requests: ranges.length, ...used }
}

async function planned(url: string): Promise<RawPlan> {
  const blocks = values['max-range']
  const query = blocks === undefined ? `logs=${LOGS_PER_RANGE}` : `blocks=${blocks}`
  const answer = await fetch(`${url}/plan?${query}`)
  return (await answer.json()) as RawPlan
}

function toCall(filter: object, [from, to]: BlockRange): string {
  const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }
  const params = [{ ...filter, ...range }]
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params })
}

function post(agent: Agent, url: string, body: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const outgoing = request(url, { agent, method: 'POST', headers }, (incoming) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => resolve(Buffer.concat(parts)))
    incoming.on('error', reject)
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}

function countLogs(body: Buffer): number {
  const answer: { readonly result?: readonly unknown[]; readonly error?: unknown } = JSON.parse(
    body.toString('latin1'),
  )
  if (answer.result === undefined) throw new Error(`refused: ${JSON.stringify(answer.error)}`)
  return answer.result.length
}
