import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { privateKeyToAccount } from 'viem/accounts'
import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import { type Config, readConfig } from '#config.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localFile } from '#main/local-chains.ts'
import { type RunningService, runService } from '#main/run-service.ts'
import { type ApiClient, createApiClient } from './api-client.ts'
import { type OwnDevnetOptions, startOwnDevnet } from './start-own-devnet.ts'

/** The whole service on real chains, for tests that look at it from outside. */
export interface World {
  readonly devnet: Devnet
  readonly config: Config
  readonly file: EcosystemFile
  readonly service: RunningService
  /** Checks every answer against the OpenAPI document. */
  readonly api: ApiClient
  readonly origin: string
  /** How far the service's clock is ahead. */
  readonly now: { ms: number }
  stop(): Promise<void>
}

export interface WorldOptions extends OwnDevnetOptions {
  /** Chains that the caller stops; new ones unless given. */
  readonly devnet?: Devnet
  /** PostgreSQL instead of the embedded stores. */
  readonly databaseUrl?: string
  /** Further variables of the service. */
  readonly environment?: Readonly<Record<string, string>>
  change?(file: EcosystemFile): EcosystemFile
}

/** Boots chains, index, API and verifier, and waits until history is indexed. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-world-'))
  const devnet = options.devnet ?? (await startOwnDevnet(options))
  const stopChains = async () => {
    if (options.devnet === undefined) await devnet.stop()
  }
  const config = readConfig(
    {
      PORT: String(await freePort(0)),
      SEXTON_DATA: folder,
      SEXTON_METRICS_PORT: 'off',
      LOG_LEVEL: 'warn',
      ...(options.databaseUrl && { SEXTON_DATABASE_URL: options.databaseUrl }),
      ...options.environment,
    },
    { isTty: false },
  )
  const now = { ms: 0 }
  const local = localFile(config.port, {
    base: devnet.chains.base.rpcUrl,
    ethereum: devnet.chains.ethereum.rpcUrl,
  })
  const file = options.change?.(local) ?? local
  const service = await runService({
    config,
    ecosystemName: 'local.ts',
    ecosystemFile: file,
    logger: pino({ level: 'warn' }),
    clock: () => Date.now() + now.ms,
    onProgress: () => undefined,
  }).catch(async (error: unknown) => {
    await stopChains()
    throw error
  })
  while ((await service.indexed()) !== 'all') await sleep(50)
  const origin = service.served.url
  return {
    devnet,
    config,
    file,
    service,
    origin,
    now,
    api: await createApiClient(origin),
    async stop() {
      await service.stop()
      await stopChains()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A minted key as its owner holds it. */
export interface MintedKey {
  readonly publicId: string
  readonly secret: string
  readonly authorization: { readonly Authorization: string }
}

/** Mints a key with a real signature of a wallet. */
export async function mintKey(
  api: ApiClient,
  wallet: { readonly address: string; readonly privateKey: `0x${string}` },
): Promise<MintedKey> {
  const { body } = await api.get(`/api/keys/message?address=${wallet.address}&action=mint`)
  const signature = await privateKeyToAccount(wallet.privateKey).signMessage({
    message: body.message,
  })
  const minted = await api.post('/api/keys', {
    ownerAddress: wallet.address,
    signature,
    message: body.message,
  })
  if (minted.status !== 201) throw new Error(`minting was refused: ${minted.text}`)
  const { key, secret } = minted.body
  return { publicId: key.publicId, secret, authorization: { Authorization: `Bearer ${secret}` } }
}

/** Asks again and again until a condition holds; fails after the time given. */
export async function eventually<T>(
  ask: () => Promise<T | undefined>,
  timeoutMs: number,
): Promise<T> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (Date.now() > until) throw new Error(`it did not happen within ${timeoutMs} ms`)
    await sleep(50)
  }
}
