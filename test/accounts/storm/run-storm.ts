import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { chanceOf } from '#test/simulation/chance.ts'
import { startAccountsWorld } from '../world/accounts-world.ts'
import { ask, makeOwner, mintSoon } from '../world/owner.ts'
import { residentMegabytes } from '../world/resident-megabytes.ts'
import { type FloodView, measureCapacity } from './flooding.ts'
import { callHonestly, type HonestView } from './honest-caller.ts'
import { clingOn } from './slow-clients.ts'

export interface StormInput {
  readonly databaseUrl: string | undefined
  readonly seconds: number
  onProgress(progress: { readonly seconds: number; readonly megabytes: number }): void
}

export interface StormResult {
  /** Answers a second before the storm; twice as many requests come in it. */
  readonly capacity: number
  readonly honest: HonestView
  readonly floods: FloodView
  /** Memory of the service: the middle value of the second quarter of the storm and of the last. */
  readonly megabytes: { readonly early: number; readonly late: number }
  /** What the honest key's usage says, and what it was answered 200. */
  readonly counted: number
  readonly audit: { readonly code: number | null; readonly words: string }
}

const QUOTAS = { anonymous: 1_000_000, free: 1_000_000, premium: 1_000_000 }

/** What an operator has who sets nothing. */
const GUARD = {
  SEXTON_GUARD_PER_MINUTE: '',
  SEXTON_GUARD_MINT_PER_MINUTE: '',
  SEXTON_GUARD_CLAIM_PER_MINUTE: '',
}

/** Every kind of flood at twice the capacity while an honest key goes on calling. */
export async function runStorm(input: StormInput): Promise<StormResult> {
  const world = await startAccountsWorld({ databaseUrl: input.databaseUrl, quotas: QUOTAS })
  try {
    const api = await world.start('start', { environment: GUARD })
    await api.ready()
    const owner = await makeOwner(world.devnet.chains.base.client)
    await world.mine(4)
    const key = await mintSoon(owner, api.url)
    const authorization = `Bearer ${key.secret}`
    const chance = chanceOf('storm')
    const capacity = await measureCapacity(api.url, chance)
    const stop = new AbortController()
    const { signal } = stop
    const address = 'X-Forwarded-For: 198.51.100.2'
    const request = `GET /api/burns/total HTTP/1.1\r\nHost: api\r\n${address}\r\nAuthorization: ${authorization}\r\n\r\n`
    const watching = watchMemory(api.pid, input, signal)
    const clinging = clingOn(api.url, signal)
    const calling = callHonestly(api.url, request, signal)
    const flooding = floodBeside({ url: api.url, perSecond: 2 * capacity }, signal)
    const ended = api.exit.then(() => {
      throw new Error(`the service ended in the storm:\n${api.words()}`)
    })
    await Promise.race([sleep(input.seconds * 1_000), ended])
    stop.abort()
    const [megabytes, honest, floods] = await Promise.all([watching, calling, flooding, clinging])
    const usage = await ask(`${api.url}/api/usage`, 200, { headers: { authorization } })
    ended.catch(() => undefined)
    await api.stop()
    const audit = await world.audit()
    return { capacity, honest, floods, megabytes, counted: usage.requestCount, audit }
  } finally {
    await world.stop()
  }
}

async function floodBeside(
  workerData: { readonly url: string; readonly perSecond: number },
  stop: AbortSignal,
): Promise<FloodView> {
  const worker = new Worker(new URL('./flood-worker.ts', import.meta.url), { workerData })
  stop.addEventListener('abort', () => worker.postMessage('stop'))
  const [view] = await once(worker, 'message')
  // Requests that nobody answers any more must not keep it.
  await worker.terminate()
  return view
}

async function watchMemory(
  pid: number,
  { onProgress }: StormInput,
  stop: AbortSignal,
): Promise<StormResult['megabytes']> {
  const samples: number[] = []
  const started = performance.now()
  while (!stop.aborted) {
    const megabytes = await residentMegabytes(pid)
    samples.push(megabytes)
    onProgress({ seconds: (performance.now() - started) / 1_000, megabytes })
    await sleep(1_000, undefined, { signal: stop }).catch(() => undefined)
  }
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  return {
    early: middleOf(samples.slice(quarter, 2 * quarter)),
    late: middleOf(samples.slice(-quarter)),
  }
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
