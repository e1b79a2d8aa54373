import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '#lib/free-port.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { benchEcosystem } from '#tools/bench/index/bench-ecosystem.ts'
import { startChainServer } from '#tools/bench/index/chain-server.ts'
import { type RoleProcess, startRole } from '../accounts/world/role-process.ts'
import { type SeededAccounts, type SeededKey, seedAccounts } from './seed-accounts.ts'
import { startTraffic, type TrafficFigures } from './traffic.ts'

export interface ServedSize {
  readonly seeded: SeededAccounts
  /** Of the synthetic chain. */
  readonly logs: number
}

/** Indexed and filled stores of an installation, served by `sexton start`. */
export interface ServedAccounts {
  readonly folder: string
  readonly data: string
  /** Environment of its commands. */
  readonly environment: Readonly<Record<string, string>>
  /** Runs a command while every key in turn calls, about so often a second. */
  underCalls<T>(callsPerSecond: number, work: () => Promise<T>): Promise<UnderCalls<T>>
  stop(): Promise<void>
}

export interface UnderCalls<T> {
  readonly traffic: TrafficFigures
  readonly ended: T
  readonly seconds: number
}

const CONNECTIONS = 20

/** Of calls before and after the work. */
const CALM_MS = 500

export async function serveAccounts<T>(
  size: ServedSize,
  work: (served: ServedAccounts) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-served-'))
  const chain = await startChainServer({ logs: size.logs })
  const running: RoleProcess[] = []
  try {
    return await work(await serve(size, { folder, rpcUrl: chain.url, running }))
  } finally {
    for (const each of running) await each.kill()
    await chain.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function serve(
  { seeded }: ServedSize,
  {
    folder,
    rpcUrl,
    running,
  }: { readonly folder: string; readonly rpcUrl: string; readonly running: RoleProcess[] },
): Promise<ServedAccounts> {
  const data = join(folder, 'data')
  const ecosystem = join(folder, 'ecosystem.json')
  await mkdir(data)
  // The synthetic chain cannot say what the payment wallet holds.
  const { payment: _, ...file } = benchEcosystem([rpcUrl])
  await writeFile(ecosystem, JSON.stringify(file))
  const keys = await seed(data, seeded)
  const environment = {
    SEXTON_DATA: data,
    SEXTON_ECOSYSTEM: ecosystem,
    SEXTON_METRICS_PORT: 'off',
    SEXTON_GUARD_PER_MINUTE: '10000000',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
  }
  const service = startRole({ role: 'start', port: await freePort(0), environment })
  running.push(service)
  await service.ready()
  await untilWhole(service.url)
  return {
    ...{ folder, data, environment },
    underCalls: (callsPerSecond, work) => underCalls(service.url, keys, callsPerSecond, work),
    stop: () => service.stop(),
  }
}

async function seed(data: string, seeded: SeededAccounts): Promise<readonly SeededKey[]> {
  const accounts = await openStore(data, 'accounts', { kind: 'sqlite' })
  try {
    await migrateStore(accounts, 'accounts')
    return await seedAccounts(accounts, seeded)
  } finally {
    await accounts.close()
  }
}

async function untilWhole(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/api/stats`)
    const { meta } = (await answer.json()) as {
      meta?: { chains: readonly { readonly gap: unknown }[] }
    }
    if (meta?.chains.every(({ gap }) => gap === null)) return
    await sleep(100)
  }
}

async function underCalls<T>(
  url: string,
  keys: readonly SeededKey[],
  callsPerSecond: number,
  work: () => Promise<T>,
): Promise<UnderCalls<T>> {
  const traffic = startTraffic({
    secrets: keys.map(({ secret }) => secret),
    path: '/api/burns/total',
    url,
    connections: CONNECTIONS,
    pauseMs: (1_000 * CONNECTIONS) / callsPerSecond,
  })
  await sleep(CALM_MS)
  const startedMs = performance.now()
  const ended = await work()
  const seconds = (performance.now() - startedMs) / 1_000
  await sleep(CALM_MS)
  return { traffic: await traffic.stop(), ended, seconds }
}
