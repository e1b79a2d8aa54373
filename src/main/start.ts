import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import type { Config } from '#config.ts'
import { eventKinds } from '#data/kinds.ts'
import { anvilCommand } from '#devnet/anvil.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystemFile } from '#ecosystem/load-ecosystem.ts'
import { type CommandContext, chosenEcosystem, type ExitCode } from './command-context.ts'
import { planLocalChains } from './local-chains.ts'
import { lockFolder } from './lock-folder.ts'
import { keepRegister } from './registers.ts'
import { type RunningService, runService } from './run-service.ts'
import { compose, serve } from './serve.ts'
import { openContext } from './stores.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton start`. Rejects when the start or, later, the index fails. */
export async function runStart(command: CommandContext): Promise<ExitCode> {
  const starting = start(command)
  const ended = starting.then(async ({ ready, service }) => {
    await Promise.all([ready, service.index.ended])
  })
  return untilStopped(command, async () => (await starting).stop(), ended)
}

/** `sexton start --api-only`: this process never leads. */
export async function runApi(command: CommandContext): Promise<ExitCode> {
  const { database, dataFolder } = command.config
  // The lock is released when the process ends.
  if (database.kind === 'sqlite') await lockFolder(dataFolder)
  const ctx = await openContext(command, await chosenEcosystem(command.config))
  const stopKeeping = await keepRegister(ctx)
  try {
    const served = await serve(ctx, await compose(ctx))
    ctx.logger.info({ url: served.url, metricsPort: served.metricsPort }, 'API listening')
    return await untilStopped(command, served.stop)
  } finally {
    stopKeeping()
    await ctx.close()
  }
}

interface Started {
  readonly service: RunningService
  /** Resolves once all history is read. */
  readonly ready: Promise<void>
  stop(): Promise<void>
}

/** Resolves once the API listens, so that it can be stopped. */
async function start(command: CommandContext): Promise<Started> {
  const { database, dataFolder, ecosystemFile } = command.config
  if (ecosystemFile === undefined) anvilCommand()
  const isShared = database.kind === 'postgres' && ecosystemFile !== undefined
  const unlock = isShared ? () => undefined : await lockFolder(dataFolder)
  try {
    const started = await startLocked(command)
    return { ...started, stop: () => started.stop().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

async function startLocked(command: CommandContext): Promise<Started> {
  const { clock, logger, progress, say } = command
  const startedAtMs = clock()
  const config = await withPorts(command.config)
  const { ecosystemFile } = config
  const local =
    ecosystemFile === undefined
      ? await planLocalChains({ ...config, takesAnyPorts: command.config.port === 0 }, (built) =>
          progress.update(`building ${built.chain}`, built.done, built.total),
        )
      : undefined
  const listening = Promise.withResolvers<void>()
  // The API answers from the existing register meanwhile.
  const chains = local && listening.promise.then(local.start)
  chains?.catch(() => undefined)
  const service = await runService({
    ...{ config, logger, clock },
    ecosystemName: ecosystemFile ?? 'local.ts',
    ecosystemFile: local?.file ?? (await loadEcosystemFile(ecosystemFile ?? '')),
    onProgress({ chain, done, total, logs }) {
      progress.update(`indexing ${chain}`, done, total, `${logs} logs`)
    },
    ...(chains !== undefined && {
      beforeIndex() {
        listening.resolve()
        return chains
      },
    }),
  })
  const stop = async () => {
    await service.stop()
    if (chains !== undefined) logger.info('stopping: saving the local chains')
    await (await chains?.catch(() => undefined))?.stop(STATES_WITHIN_MS)
  }
  const welcomed = async () => {
    const devnet = await chains
    // With the operator's own chains, wait only for the first blocks: their whole history may take long.
    await untilIndexed(service, devnet === undefined ? 'some' : 'all')
    const isWhole = (await service.indexed()) === 'all'
    const url = `http://localhost:${service.served.port}`
    const tookMs = clock() - startedAtMs
    say(writeWelcome({ url, tookMs, ecosystem: service.ecosystem, isWhole, chains: devnet }))
    await untilIndexed(service, 'all')
    progress.finish()
    if (!isWhole) say('Sexton is ready: all history is read.')
  }
  return { service, ready: welcomed(), stop }
}

/** Time to save the chains' newest states on stop; without them, a start reads only above the head. */
const STATES_WITHIN_MS = 800

/** Resolves port 0 now, because answers contain the address. */
async function withPorts(config: Config): Promise<Config> {
  const port = config.port === 0 ? await freePort() : config.port
  const { metrics } = config
  if (metrics === undefined) return { ...config, port }
  return { ...config, port, metrics: { ...metrics, port: await freePort(metrics.port) } }
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
export function writeWelcome(input: {
  readonly url: string
  readonly tookMs: number
  readonly ecosystem: Ecosystem
  /** Whether all history is read, so that every figure is complete. */
  readonly isWhole: boolean
  /** Undefined with the operator's own chains. */
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
