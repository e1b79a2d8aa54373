import { mkdirSync } from 'node:fs'
import { type AccountName, chainIds } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { type ChainDeps, type RunningChain, runChain } from '#devnet/run-chain.ts'
import { developmentWallets, type Wallet } from '#devnet/wallets.ts'

export interface DevnetOptions {
  readonly dataFolder: string
  readonly basePort: number
  readonly ethereumPort: number
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

export interface Devnet {
  readonly chains: { readonly base: DevnetChain; readonly ethereum: DevnetChain }
  readonly wallets: Readonly<Record<AccountName, Wallet>>
  /** Saves both chains; idempotent. */
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
  const [base, ethereum] = await allOrNone([
    runChain(deps, { ...common, name: 'base', port: options.basePort }),
    runChain(deps, { ...common, name: 'ethereum', port: options.ethereumPort }),
  ])
  let stopped: Promise<unknown> | undefined
  return {
    chains: { base: describe(base), ethereum: describe(ethereum) },
    wallets: developmentWallets(),
    async stop(statesWithinMs) {
      stopped ??= Promise.all([base.stop(statesWithinMs), ethereum.stop(statesWithinMs)])
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
  chains: readonly [Promise<RunningChain>, Promise<RunningChain>],
): Promise<readonly [RunningChain, RunningChain]> {
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
