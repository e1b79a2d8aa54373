import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '#base/time.ts'
import type { Config } from '#config.ts'
import { registerName } from '#data/datasets.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import { openLogger } from './logger.ts'
import { runIndex } from './run-index.ts'
import { migrateStore, openStore } from './stores.ts'

/** Passed as `workerData`. */
export interface IndexWork {
  readonly config: Pick<Config, 'dataFolder' | 'database' | 'log'>
  /** The starting thread has validated it. */
  readonly file: EcosystemFile
}

export type FromIndexWorker = IndexProgress | { readonly leads: boolean }

/** Runs the index on this thread; ends on any message. */
assert(parentPort !== null, 'this file runs as a worker thread')
const port = parentPort
const send = (news: FromIndexWorker) => port.postMessage(news)
const { config, file }: IndexWork = workerData
const stop = new AbortController()
port.on('message', () => stop.abort())
const ecosystem = parseEcosystem('the ecosystem file', file)
const register = await openStore(config.dataFolder, registerName(ecosystem), config.database)
try {
  await migrateStore(register, 'register')
  await runIndex(
    {
      ecosystem,
      register,
      clock: systemClock,
      logger: openLogger(config.log, process.stdout),
      onProgress: send,
      onLead: (leads) => send({ leads }),
    },
    stop.signal,
  )
} finally {
  await register.close()
  port.close()
}
