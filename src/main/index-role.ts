import type { Logger } from 'pino'
import type { ChainSource } from '#chain/chain-source.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { allDatasets } from '#datasets/datasets.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { proveEcosystem } from '#indexer/prove-ecosystem.ts'
import { runIndexer } from '#indexer/run-indexer.ts'
import type { Clock } from '#lib/clock.ts'
import type { Engine } from '#store/engine.ts'
import { type IndexProgress, makeChainReport } from './index-progress.ts'

export interface IndexRole {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  readonly logger: Logger
  /** Told of every step of every chain: for progress bars and metrics. */
  onProgress(progress: IndexProgress): void
}

/** Proves the ecosystem file against the chains, then follows every chain until the signal aborts. */
export async function runIndexRole(role: IndexRole, signal: AbortSignal): Promise<void> {
  const { ecosystem, register, clock, logger } = role
  const sources = openSources(ecosystem, logger)
  const sourceOf = (chain: Chain): ChainSource => {
    const source = sources.get(chain.id)
    if (source === undefined) throw new Error(`chain ${chain.name} has no source`)
    return source
  }
  await proveEcosystem(ecosystem, sourceOf)
  await runIndexer(
    {
      ecosystem,
      register,
      clock,
      datasets: allDatasets(ecosystem),
      prices: makeDollarPrices(ecosystem.tokens),
      sourceOf,
      reportOf: (chain) => makeChainReport({ ...role, chain }),
      onLease: reportLease(logger),
    },
    signal,
  )
}

/** Tells once when this process begins to index, and once when it waits for another that does. */
function reportLease(logger: Pick<Logger, 'info'>): (held: boolean) => void {
  let before: boolean | undefined
  return (held) => {
    if (held === before) return
    before = held
    logger.info(
      held ? 'this process indexes' : 'another process indexes; this one waits in reserve',
    )
  }
}

/** One source per chain; the hosts of failing endpoints go to the log, never their URLs. */
export function openSources(
  ecosystem: Ecosystem,
  logger: Pick<Logger, 'debug'>,
): ReadonlyMap<number, ChainSource> {
  return new Map(
    ecosystem.chains.map((chain) => [
      chain.id,
      openRpcSource({
        chainId: chain.id,
        urls: chain.rpcUrls,
        onError: (event) => logger.debug({ chain: chain.name, ...event }, 'a node failed'),
      }),
    ]),
  )
}
