import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import type { Clock } from '#base/time.ts'
import type { Config } from '#config.ts'
import { eventKinds } from '#data/kinds.ts'
import { anvilCommand } from '#devnet/anvil.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystemFile } from '#ecosystem/load-ecosystem.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import { planLocalChains } from './local-chains.ts'
import { lockFolder } from './lock-folder.ts'
import { type RunningService, runService } from './run-service.ts'

interface StartDeps {
  readonly config: Config
  readonly logger: Logger
  readonly clock: Clock
  onChains(progress: { chain: string; done: number; total: number }): void
  onIndex(progress: IndexProgress): void
  /** Writes to the terminal. */
  say(text: string): void
}

export interface Started {
  readonly service: RunningService
  /** Resolves with data and the welcome printed. */
  readonly ready: Promise<void>
  stop(): Promise<void>
}

/** Resolves once the API listens, so that it can be stopped. */
export async function start(deps: StartDeps): Promise<Started> {
  const { database, dataFolder, ecosystemFile } = deps.config
  if (ecosystemFile === undefined) anvilCommand()
  const isShared = database.kind === 'postgres' && ecosystemFile !== undefined
  const unlock = isShared ? () => undefined : await lockFolder(dataFolder)
  try {
    const started = await startLocked(deps)
    return { ...started, stop: () => started.stop().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

async function startLocked(deps: StartDeps): Promise<Started> {
  const startedAtMs = deps.clock()
  const config = await withPorts(deps.config)
  const chosen = await chooseEcosystem(config, deps)
  const listening = Promise.withResolvers<void>()
  // The API answers from the existing register meanwhile.
  const { startChains } = chosen
  const chains: Promise<Devnet | undefined> =
    startChains === undefined ? Promise.resolve(undefined) : listening.promise.then(startChains)
  chains.catch(() => undefined)
  const service = await runService({
    ...deps,
    config,
    ecosystemName: chosen.name,
    ecosystemFile: chosen.file,
    onProgress: deps.onIndex,
    ...(startChains !== undefined && {
      beforeIndex() {
        listening.resolve()
        return chains
      },
    }),
  })
  const stop = async () => {
    await service.stop()
    if (startChains !== undefined) deps.logger.info('stopping: saving the local chains')
    await (await chains.catch(() => undefined))?.stop(STATES_WITHIN_MS)
  }
  const welcomed = async () => {
    const devnet = await chains
    // Other chains' history may take long.
    await untilIndexed(service, devnet === undefined ? 'some' : 'all')
    const isWhole = (await service.indexed()) === 'all'
    const tookMs = deps.clock() - startedAtMs
    const url = `http://localhost:${service.served.port}`
    deps.say(welcome({ url, tookMs, ecosystem: service.ecosystem, isWhole, chains: devnet }))
    if (isWhole) return
    // A failing index is reported by itself.
    const whole = untilIndexed(service, 'all')
    whole.then(() => deps.say('Sexton is ready: all history is read.')).catch(() => undefined)
  }
  return { service, ready: welcomed(), stop }
}

interface Chosen {
  readonly name: string
  readonly file: unknown
  /** Local only. */
  readonly startChains?: () => Promise<Devnet>
}

async function chooseEcosystem(config: Config, deps: StartDeps): Promise<Chosen> {
  const name = config.ecosystemFile
  if (name !== undefined) return { name, file: await loadEcosystemFile(name) }
  const { file, start: startChains } = await planLocalChains(
    { ...config, takesAnyPorts: deps.config.port === 0 },
    deps.onChains,
  )
  return { name: 'local.ts', file, startChains }
}

/** Time to save the newest states on stop; without them a start reads above the head only. */
const STATES_WITHIN_MS = 800

/** Answers contain the address, so port 0 is resolved now. */
async function withPorts(config: Config): Promise<Config> {
  if (config.port !== 0) await requireFree(config)
  const port = config.port === 0 ? await freePort() : config.port
  const { metrics } = config
  if (metrics === undefined) return { ...config, port }
  return { ...config, port, metrics: { ...metrics, port: await freePort(metrics.port) } }
}

/** EADDRINUSE before the chains start. */
async function requireFree({ host, port }: Config): Promise<void> {
  const probe = createServer()
  probe.listen(port, host)
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}

const POLL_MS = 50

/** Rejects when the index fails. */
export async function untilIndexed(
  service: Pick<RunningService, 'index' | 'indexed'>,
  wanted: 'some' | 'all',
): Promise<void> {
  let failed: Error | undefined
  service.index.ended.catch((error: Error) => {
    failed = error
  })
  for (;;) {
    const indexed = await service.indexed()
    if (indexed === 'all' || indexed === wanted) return
    if (failed !== undefined) throw failed
    await sleep(POLL_MS)
  }
}

/** Returns text with commands that are ready to paste. */
export function welcome(input: {
  readonly url: string
  readonly tookMs: number
  readonly ecosystem: Ecosystem
  /** Whether all history is read, so that every figure is there. */
  readonly isWhole: boolean
  /** Undefined on the operator's own chains. */
  readonly chains: Devnet | undefined
}): string {
  const { url, chains, isWhole } = input
  const after = `(after ${(input.tookMs / 1000).toFixed(1)} s)`
  const lines = [
    '',
    isWhole
      ? `Sexton is ready on ${url} ${after}. Try:`
      : `Sexton answers on ${url} ${after} while it reads the chains: figures stand at the block reached, and /readyz says how far. Try:`,
    '',
    `  curl ${url}/api/stats`,
    ...requestsFor(input.ecosystem).map((path) => `  curl '${url}${path}'`),
    `  curl -i ${url}/api/usage`,
    '',
    `Interactive documentation: ${url}/scalar/v1`,
  ]
  if (chains !== undefined) lines.push(...aboutChains(url, chains))
  lines.push('', 'Stop with Ctrl+C; the next start resumes from here.', '')
  return lines.join('\n')
}

/** Suggests requests for configured parts only. */
function requestsFor(ecosystem: Ecosystem): readonly string[] {
  const [chain] = ecosystem.chains
  const configured = eventKinds.filter(({ part }) => ecosystem[part].length > 0)
  return [
    '/api/stats/history?metric=holders&period=90d&format=csv',
    ...configured.map((kind) => kind.example(chain?.name ?? 'all')),
  ]
}

function aboutChains(url: string, { chains, wallets }: Devnet): readonly string[] {
  const { base, ...others } = chains
  const elsewhere = Object.entries(others).map(([name, { rpcUrl }]) => `${name} is ${rpcUrl}`)
  return [
    '',
    'Test wallets on the local chains (their keys are public):',
    `  holder   ${wallets.holder.address}  passes the gate, has USDC   key ${wallets.holder.privateKey}`,
    `  premium  ${wallets.premium.address}  premium tier               key ${wallets.premium.privateKey}`,
    `  poor     ${wallets.poor.address}  below the gate             key ${wallets.poor.privateKey}`,
    '',
    'Mint a key: sign the text of',
    `  curl '${url}/api/keys/message?address=${wallets.holder.address}&action=mint'`,
    'with the holder wallet (personal_sign) and POST {ownerAddress, message, signature} to',
    '/api/keys. To prepay, send USDC',
    `  ${base.client.addresses.usdc} on base (${base.rpcUrl}; ${elsewhere.join(', ')})`,
    `  to ${wallets.payTo.address}, with fees of 0 (maxFeePerGas, maxPriorityFeePerGas),`,
    'and POST the transaction to /api/sessions/prepay.',
  ]
}
