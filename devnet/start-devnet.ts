import { mkdirSync } from 'node:fs'
import { type AccountName, type ChainName, chainIds, chainNames } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { type ChainDeps, type RunningChain, runChain } from '#devnet/run-chain.ts'
import { developmentWallets, type Wallet } from '#devnet/wallets.ts'

export interface DevnetOptions {
  readonly dataFolder: string
  /** Chains to run, each on this port. */
  readonly ports: Ports
  /** Unix seconds; defaults to now. */
  readonly nowUnix?: number
  readonly historyDays?: number
  readonly seed?: number
  /** Otherwise only `mine` makes blocks. */
  readonly live?: boolean
  /** Whether the chains are saved for a later run; true unless given. */
  readonly saved?: boolean
  readonly log?: (line: string) => void
  readonly onProgress?: (progress: { chain: string; done: number; total: number }) => void
}

/** Base and ethereum always run. */
type ByChain<T> = { readonly base: T; readonly ethereum: T } & { readonly [Name in ChainName]?: T }

export type Ports = ByChain<number>

export interface Devnet {
  readonly chains: ByChain<DevnetChain>
  readonly wallets: Readonly<Record<AccountName, Wallet>>
  /** Saves the chains; idempotent. */
  stop(statesWithinMs?: number): Promise<void>
}

export interface DevnetChain {
  readonly rpcUrl: string
  readonly chainId: number
  readonly client: ChainClient
}

/** On 127.0.0.1, concurrently; continues a saved data folder. Throws if a port is taken. */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  mkdirSync(options.dataFolder, { recursive: true })
  const deps: ChainDeps = {
    nowUnix: clockFrom(options.nowUnix),
    log: options.log ?? (() => undefined),
    onProgress: options.onProgress ?? (() => undefined),
  }
  const common = {
    dataFolder: options.dataFolder,
    historyDays: options.historyDays ?? 120,
    seed: options.seed ?? 1,
    live: options.live ?? true,
    saved: options.saved ?? true,
  }
  const starting = chainNames.flatMap((name) => {
    const port = options.ports[name]
    return port === undefined ? [] : [runChain(deps, { ...common, name, port })]
  })
  const running = await allOrNone(starting)
  const described = running.map((chain) => [chain.client.name, describe(chain)])
  let stopped: Promise<unknown> | undefined
  return {
    chains: Object.fromEntries(described),
    wallets: developmentWallets(),
    async stop(statesWithinMs) {
      stopped ??= Promise.all(running.map((chain) => chain.stop(statesWithinMs)))
      await stopped
    },
  }
}

// Runs on from the given time.
function clockFrom(startUnix: number | undefined): () => number {
  const offset = startUnix === undefined ? 0 : startUnix - Date.now() / 1000
  return () => Math.floor(Date.now() / 1000 + offset)
}

async function allOrNone(
  chains: readonly Promise<RunningChain>[],
): Promise<readonly RunningChain[]> {
  try {
    return await Promise.all(chains)
  } catch (error) {
    const settled = await Promise.allSettled(chains)
    await Promise.all(
      settled.map((chain) => (chain.status === 'fulfilled' ? chain.value.stop() : undefined)),
    )
    throw error
  }
}

function describe({ client }: RunningChain): DevnetChain {
  return { rpcUrl: client.rpcUrl, chainId: chainIds[client.name], client }
}
