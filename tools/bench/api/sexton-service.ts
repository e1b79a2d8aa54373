import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { freePort } from '#lib/free-port.ts'
import { BUILT_PROGRAM, buildService } from '../../build.ts'
import { benchEcosystem } from '../index/bench-ecosystem.ts'
import { type PinnedProcess, startPinned } from './pinned-process.ts'

export interface ServiceInput {
  /** Has a `data` folder with a register in it, where the stores are not in PostgreSQL. */
  readonly folder: string
  readonly databaseUrl?: string | undefined
  readonly core: number
  readonly quotas: NonNullable<EcosystemFile['quotas']>
  /** Flags for Node, such as those of its profiler. */
  readonly nodeFlags?: readonly string[]
}

/** One address asks for everything here; the abuse guard must let it. */
const GUARD = { SEXTON_GUARD_BURST: '10000000', SEXTON_GUARD_PER_MINUTE: '10000000' }

/** Nobody listens there: the API role alone asks no node. */
const NO_NODE = 'http://127.0.0.1:9'

/** Starts a real `sexton serve` with metrics on, as an operator has it. */
export async function startService(input: ServiceInput): Promise<PinnedProcess> {
  const { folder, databaseUrl, core, quotas, nodeFlags = [] } = input
  const ecosystemFile = join(folder, `ecosystem-${quotas.free}.json`)
  await writeFile(ecosystemFile, JSON.stringify({ ...benchEcosystem([NO_NODE]), quotas }))
  await buildService()
  return startPinned({
    core,
    port: await freePort(),
    command: [process.execPath, ...nodeFlags, BUILT_PROGRAM, 'serve'],
    environment: {
      ...GUARD,
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      SEXTON_DATA: join(folder, 'data'),
      SEXTON_ECOSYSTEM: ecosystemFile,
      SEXTON_METRICS_PORT: String(await freePort()),
      ...(databaseUrl !== undefined && { SEXTON_DATABASE_URL: databaseUrl }),
    },
    readyPath: '/api/meta',
  })
}
