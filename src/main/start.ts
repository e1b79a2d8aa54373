import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { loadEcosystemFile } from '#ecosystem/load-ecosystem.ts'
import type { Clock } from '#lib/clock.ts'
import { sleep } from '#lib/sleep.ts'
import type { IndexProgress } from './index-progress.ts'
import { freePort, startLocalChains } from './local-chains.ts'
import { lockFolder } from './lock-folder.ts'
import { runService, type Service } from './run-service.ts'
import type { Settings } from './settings.ts'
import { welcome } from './welcome.ts'

export interface StartDeps {
  readonly settings: Settings
  readonly logger: Logger
  readonly clock: Clock
  /** Building the local chains and reading history take seconds; whoever waits sees them. */
  onChains(progress: { chain: string; done: number; total: number }): void
  onIndex(progress: IndexProgress): void
  /** Plain text for the person at the terminal. */
  say(text: string): void
}

export interface Started {
  readonly service: Service
  stop(): Promise<void>
}

/** Starts everything: the local chains unless an ecosystem file is given, index, API and verifier. */
export async function start(deps: StartDeps): Promise<Started> {
  const startedAtMs = deps.clock()
  const unlock = await lockFolder(deps.settings.dataFolder)
  const settings = await withPorts(deps.settings)
  const chosen = await chooseEcosystem(settings, deps)
  let ready = false
  try {
    const service = await runService({
      ...deps,
      settings,
      ecosystemName: chosen.name,
      ecosystemFile: chosen.file,
      onProgress: deps.onIndex,
    })
    const stop = async () => {
      await service.stop()
      await chosen.chains?.devnet.stop()
      unlock()
    }
    try {
      await untilIndexed(service)
    } catch (error) {
      await stop()
      throw error
    }
    ready = true
    const tookMs = deps.clock() - startedAtMs
    deps.say(
      welcome({
        url: `http://localhost:${service.served.port}`,
        tookMs,
        chains: chosen.chains?.devnet,
      }),
    )
    return { service, stop }
  } finally {
    if (!ready) await chosen.chains?.devnet.stop()
  }
}

async function chooseEcosystem(settings: Settings, deps: StartDeps) {
  if (settings.ecosystemFile !== undefined)
    return {
      name: settings.ecosystemFile,
      file: await loadEcosystemFile(settings.ecosystemFile),
      chains: undefined,
    }
  const chains = await startLocalChains(settings, deps.onChains)
  const file: EcosystemFile = chains.file
  return { name: 'local.ts', file, chains }
}

/** Port 0 is made definite, since answers name the service's own address. */
async function withPorts(settings: Settings): Promise<Settings> {
  if (settings.port !== 0) await requireFree(settings)
  const port = settings.port === 0 ? await freePort(0) : settings.port
  const { metrics } = settings
  if (metrics === undefined) return { ...settings, port }
  return { ...settings, port, metrics: { ...metrics, port: await freePort(metrics.port) } }
}

/** Rejects with EADDRINUSE before seconds are spent on chains. */
async function requireFree({ host, port }: Settings): Promise<void> {
  const probe = createServer()
  probe.listen(port, host)
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}

const POLL_MS = 50

/** Waits until every chain has been read up to its head once; rejects when the index fails. */
async function untilIndexed(service: Service): Promise<void> {
  let failed: Error | undefined
  service.index.ended.catch((error: Error) => {
    failed = error
  })
  while (!(await service.isIndexed())) {
    if (failed !== undefined) throw failed
    await sleep(POLL_MS)
  }
}
