import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { BUILT_PROGRAM, buildService } from '../build.ts'
import { type BenchProcess, readJson, startProcess } from './bench-process.ts'
import { benchEcosystem } from './index/bench-ecosystem.ts'
import { startChainServer } from './index/chain-server.ts'

export interface SextonPlace {
  /** For the data and the ecosystem file. */
  readonly folder: string
  /** PostgreSQL for both stores; SQLite without it. */
  readonly databaseUrl?: string | undefined
}

export interface SextonStart extends SextonPlace {
  /** Answers only, as `--api-only` does. */
  readonly apiOnly?: boolean
  /** Of the node; the API role alone asks none. */
  readonly rpcUrl?: string
  readonly quotas?: EcosystemFile['quotas']
  readonly core?: number
  /** Such as those of the profiler. */
  readonly nodeFlags?: readonly string[]
}

/** Enough that every endpoint has something to tell. */
const LOGS = 2_000

const NO_NODE = 'http://127.0.0.1:9'

/** Starts what `npm start` runs, and gives it before it is ready. */
export async function startSexton(start: SextonStart): Promise<BenchProcess> {
  const { apiOnly = false, folder, databaseUrl, core, nodeFlags = [] } = start
  await mkdir(folder, { recursive: true })
  const ecosystemFile = join(folder, 'ecosystem.json')
  const { quotas, ...file } = benchEcosystem([start.rpcUrl ?? NO_NODE])
  await writeFile(ecosystemFile, JSON.stringify({ ...file, quotas: start.quotas ?? quotas }))
  await buildService()
  return startProcess({
    port: await freePort(),
    command: [
      process.execPath,
      ...nodeFlags,
      BUILT_PROGRAM,
      'start',
      ...(apiOnly ? ['--api-only'] : []),
    ],
    environment: {
      // One address asks for everything.
      ...{ SEXTON_GUARD_PER_MINUTE: '10000000' },
      ...{ LOG_LEVEL: 'warn', SEXTON_ECOSYSTEM: ecosystemFile },
      SEXTON_DATA: join(folder, 'data'),
      SEXTON_METRICS_PORT: apiOnly ? String(await freePort()) : 'off',
      ...(databaseUrl !== undefined && { SEXTON_DATABASE_URL: databaseUrl }),
    },
    ...(core !== undefined && { core }),
  })
}

/** Whether Sexton says that it has read everything up to the head of its one chain. */
export async function isIndexed({ url }: BenchProcess): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined)
  const body = (await answer?.json()) as { parts?: Readonly<Record<string, string>> } | undefined
  const text = body?.parts?.['chain base'] ?? ''
  const [, block, head] = /^live at block (\d+) of (\d+)/.exec(text) ?? []
  return block !== undefined && block === head
}

/** Lets Sexton read a small chain into a store; from then on its API role can stand alone. */
export async function makeRegister(place: SextonPlace): Promise<void> {
  const chain = await startChainServer({ logs: LOGS })
  try {
    const sexton = await startSexton({ ...place, rpcUrl: chain.url })
    try {
      await sexton.until(() => isIndexed(sexton))
      await sexton.stop()
    } finally {
      await sexton.kill()
    }
  } finally {
    await chain.stop()
  }
}

/** Waits until a Sexton that only serves answers. */
export async function untilServed(service: BenchProcess): Promise<void> {
  await service.until(async () => (await readJson(`${service.url}/api/meta`)) !== undefined)
}
