import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import type { Clock } from '#lib/clock.ts'
import type { Connection } from '#store/engine.ts'
import { compose } from './compose.ts'
import type { IndexProgress } from './index-progress.ts'
import { type IndexThread, startIndexThread } from './index-thread.ts'
import { type Served, serve } from './serve.ts'
import type { Settings } from './settings.ts'
import { openStores } from './stores.ts'
import { runVerifyRole } from './verify-role.ts'

export interface ServiceInput {
  readonly settings: Settings
  /** Where the ecosystem comes from, for error lines, and the file's content. */
  readonly ecosystemName: string
  readonly ecosystemFile: unknown
  readonly logger: Logger
  readonly clock: Clock
  onProgress(progress: IndexProgress): void
}

export interface Service {
  readonly served: Served
  readonly index: IndexThread
  /** Whether every chain has been read up to where new blocks come in. */
  isIndexed(): Promise<boolean>
  stop(): Promise<void>
}

/** Runs every role in one process: API and verifier here, the index on a thread of its own. */
export async function runService(input: ServiceInput): Promise<Service> {
  const { settings, logger, clock } = input
  const ecosystem = parseEcosystem(input.ecosystemName, input.ecosystemFile)
  const stores = await openStores(settings)
  const composed = compose({ ecosystem, stores, settings, clock })
  const served = await serve({ settings, logger, clock, randomBytes }, composed).catch(
    async (error: unknown) => {
      await stores.close()
      throw error
    },
  )
  const index = startIndexThread(
    {
      settings: { dataFolder: settings.dataFolder, register: settings.register, log: settings.log },
      ecosystemName: input.ecosystemName,
      ecosystemFile: input.ecosystemFile,
    },
    input.onProgress,
  )
  const ending = new AbortController()
  const verifying = runVerifyRole(
    { ecosystem, stores, clock, logger, onChange: (id) => composed.waker.wake(id) },
    ending.signal,
  )
  return {
    served,
    index,
    isIndexed: () => stores.register.snapshot((reads) => isIndexed(reads, ecosystem)),
    async stop() {
      await served.stop()
      ending.abort()
      await Promise.all([verifying, index.stop()])
      await stores.close()
    },
  }
}

async function isIndexed(connection: Connection, ecosystem: Ecosystem): Promise<boolean> {
  const status = await readIndexStatus(connection, ecosystem.chains)
  return status?.chains.every((each) => each.blockNumber >= each.headNumber) ?? false
}
