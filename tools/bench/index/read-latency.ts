import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { METRICS } from '#statistics/metrics.ts'
import { median, quantile } from './quantiles.ts'
import type { SextonProcess } from './sexton-process.ts'

/** One read endpoint with different questions, so that no answer is ready from the question before. */
interface ReadEndpoint {
  readonly name: string
  readonly paths: readonly string[]
}

/** p99 in milliseconds by endpoint. */
export type ReadLatency = Readonly<Record<string, number>>

const QUESTIONS = 100

/** Endpoints with too few different questions; theirs are asked when no answer is ready any more. */
const SPACED = ['/api/stats', '/api/burns/total', '/api/dividends/total']
/** Answers are kept for the second in which they were made. */
const READY_MS = 1_020
const SPACED_QUESTIONS = 8

/**
 * A slow moment of the machine spoils a round; the median of rounds is the endpoint's. One collection of
 * garbage in a hundred answers moves a round's p99 by its own length, so there are many.
 */
const ROUNDS = 42

/** Those that wait until no answer is kept are asked in every third round. */
const SPACED_EVERY = 3

/** Garbage of who asks is collected between the answers, whose time it is not. */
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as (options: { type: 'minor' }) => void

/**
 * p99 of every endpoint that reads the register, of several services by turns, so that a slow
 * moment of the machine hits all of them.
 */
export async function compareReads(
  services: readonly SextonProcess[],
): Promise<readonly ReadLatency[]> {
  const endpoints = await Promise.all(services.map(readEndpoints))
  const rounds = services.map(() => new Map<string, number[]>())
  // The round before the first is not counted: code that runs for the first time is slow.
  for (let round = -1; round < ROUNDS; round += 1) {
    const times = await askRound(services, endpoints, { spaced: round % SPACED_EVERY === 0 })
    if (round < 0) continue
    for (const [service, found] of times.entries())
      for (const [name, list] of found) {
        const known = rounds[service]?.get(name) ?? []
        rounds[service]?.set(name, [...known, quantile(list, 0.99)])
      }
  }
  return rounds.map((each) =>
    Object.fromEntries([...each].map(([name, p99s]) => [name, median(p99s)])),
  )
}

type Times = Map<string, number[]>

async function askRound(
  services: readonly SextonProcess[],
  endpoints: readonly (readonly ReadEndpoint[])[],
  { spaced }: { readonly spaced: boolean },
): Promise<readonly Times[]> {
  const times = services.map((): Times => new Map())
  const note = (service: number, name: string, taken: number) => {
    times[service]?.set(name, [...(times[service]?.get(name) ?? []), taken])
  }
  const agents = services.map(() => new Agent({ keepAlive: true }))
  const time = async (service: number, path: string) => {
    collectGarbage({ type: 'minor' })
    return timed(agents[service], (services[service]?.url ?? '') + path)
  }
  // Between two rounds no answer of the last is ready any more.
  await sleep(READY_MS)
  for (let question = 0; spaced && question < SPACED_QUESTIONS; question += 1) {
    await sleep(READY_MS)
    for (const path of SPACED)
      for (const service of services.keys()) note(service, path, await time(service, path))
  }
  for (const index of endpoints[0]?.keys() ?? [])
    for (let question = 0; question < QUESTIONS; question += 1)
      for (const service of services.keys()) {
        const { name = '', paths = [] } = endpoints[service]?.[index] ?? {}
        const path = paths[question]
        if (path !== undefined) note(service, name, await time(service, path))
      }
  for (const agent of agents) agent.destroy()
  return times
}

async function readEndpoints(sexton: SextonProcess): Promise<readonly ReadEndpoint[]> {
  const wallets = await claimers(sexton)
  const many = (name: string, path: (index: number) => string): ReadEndpoint => ({
    name,
    paths: Array.from({ length: QUESTIONS }, (_, index) => path(index)),
  })
  const limited = (path: string) => many(path, (index) => `${path}?limit=${index + 1}`)
  return [
    many('/api/burns', (index) => `/api/burns?period=${index * 7 + 1}d`),
    limited('/api/burns/recent'),
    limited('/api/dividends/recent'),
    many('/api/dividends/{address}', (i) => `/api/dividends/${wallets[i % wallets.length]}`),
    limited('/api/grave-digs'),
    limited('/api/grave-digs/leaderboard'),
    ...METRICS.map((metric) =>
      many(
        `/api/stats/history?metric=${metric}`,
        (index) => `/api/stats/history?metric=${metric}&period=${index * 7 + 1}d`,
      ),
    ),
  ]
}

/** Asks `/api/stats` at a steady pace until the signal aborts; gives milliseconds of the 200s. */
export async function paceStats(
  sexton: SextonProcess,
  options: { readonly everyMs: number; readonly signal: AbortSignal },
): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true })
  const times: number[] = []
  while (!options.signal.aborted) {
    const startedMs = performance.now()
    const status = await ask(agent, `${sexton.url}/api/stats`)
    if (status === 200) times.push(performance.now() - startedMs)
    await sleep(options.everyMs)
  }
  agent.destroy()
  return times
}

async function timed(agent: Agent | undefined, url: string): Promise<number> {
  const startedMs = performance.now()
  const status = await ask(agent, url)
  if (status !== 200) throw new Error(`${url}: ${status}`)
  return performance.now() - startedMs
}

function ask(agent: Agent | undefined, url: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  get(url, { ...(agent && { agent }) }, (incoming) => {
    incoming.on('end', () => resolve(incoming.statusCode)).on('error', reject)
    incoming.resume()
  }).on('error', reject)
  return promise
}

/** Wallets that have claimed lately. */
async function claimers(sexton: SextonProcess): Promise<readonly string[]> {
  const answer = await sexton.get('/api/dividends/recent?limit=100')
  const rows: readonly { readonly recipient: string | null }[] = answer?.body.data ?? []
  const wallets = new Set(rows.map((row) => row.recipient).filter((each) => each !== null))
  return [...wallets]
}
