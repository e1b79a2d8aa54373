import { mkdirSync } from 'node:fs'
import { type AccountName, chainIds } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { type ChainDeps, type RunningChain, runChain } from '#devnet/run-chain.ts'
import { developmentWallets, type Wallet } from '#devnet/wallets.ts'

/** How the local chains are started. */
export interface DevnetOptions {
  /** Where the chains are kept between runs. */
  readonly dataFolder: string
  readonly basePort: number
  readonly ethereumPort: number
  /** The time to end the history at, Unix seconds; the clock's unless given. */
  readonly nowUnix?: number
  /** How far the history of new chains goes back; 120 unless given. */
  readonly historyDays?: number
  /** Fixes everything that people do; 1 unless given. */
  readonly seed?: number
  /** Whether blocks and activity go on by themselves; else `mine` of `actions.ts` makes blocks. */
  readonly live?: boolean
  /** Whether the chains are saved for a later run; true unless given. */
  readonly saved?: boolean
  readonly log?: (line: string) => void
  readonly onProgress?: (progress: { chain: string; done: number; total: number }) => void
}

/** The two local chains. */
export interface Devnet {
  readonly chains: { readonly base: DevnetChain; readonly ethereum: DevnetChain }
  /** The development accounts with their private keys. */
  readonly wallets: Readonly<Record<AccountName, Wallet>>
  /** Saves both chains, if they are to be saved, and ends their nodes; calling it again does nothing more. */
  stop(statesWithinMs?: number): Promise<void>
}

/** One local chain. */
export interface DevnetChain {
  readonly rpcUrl: string
  readonly chainId: number
  /** Drives the chain through `actions.ts`. */
  readonly client: ChainClient
}

/**
 * Starts the local chains base and ethereum on 127.0.0.1, side by side, and is done when both
 * reach now. A data folder of an earlier run is gone on from. Throws when a port is taken.
 */
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

// A given time goes on with the clock from there.
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
