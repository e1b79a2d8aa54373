import type { Logger } from 'pino'
import type { Clock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import type { EndpointEvent } from '#chain/endpoints/endpoint.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { allDatasets } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Engine } from '#db/engine.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { Leader } from '#index/leader.ts'
import { runIndexer } from '#index/run-indexer.ts'
import { runJobs } from '#index/run-jobs.ts'
import { proveEcosystem, proveStartBlocks, watchDecimals } from '#ops/checks/prove-ecosystem.ts'
import { type IndexProgress, makeChainReport } from '#ops/health/index-progress.ts'

interface IndexInput {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  readonly logger: Logger
  onProgress(progress: IndexProgress): void
  /** Called after each attempt with whether this process leads. */
  onLead(leads: boolean): void
}

/** Checks the ecosystem file against the chains first. */
export async function runIndex(input: IndexInput, signal: AbortSignal): Promise<void> {
  const { ecosystem, register, logger } = input
  const sourceOf = openSources(ecosystem, logger)
  const starting = proveStartBlocks(ecosystem, sourceOf)
  starting.catch(() => undefined)
  const unsure = await proveEcosystem(ecosystem, sourceOf)
  for (const { field, message } of unsure) logger.warn(`${field}: ${message}`)
  const unproven = await starting
  for (const [chain, reason] of unproven)
    logger.warn({ chain, reason }, 'startBlock not checked: no node has the state before it')
  const leader = new Leader({ engine: register, name: 'index' })
  const changed = new AbortController()
  const watching = watchDecimals(ecosystem, sourceOf, changed)
  const ending = AbortSignal.any([signal, changed.signal])
  let before: boolean | undefined
  const indexing = runIndexer(
    {
      ...input,
      leader,
      datasets: allDatasets(ecosystem),
      prices: openPriceBook(ecosystem.tokens),
      sourceOf,
      reportOf: (chain) => makeChainReport({ ...input, chain, source: sourceOf(chain) }),
      onLead(leads) {
        input.onLead(leads)
        if (leads === before) return
        before = leads
        logger.info(
          leads ? 'this process indexes' : 'another process indexes; this one is a standby',
        )
      },
    },
    ending,
  )
  await Promise.all([indexing, runJobs([watching], { leader, logger, runs: new Map() }, ending)])
  changed.signal.throwIfAborted()
}

/** Logs endpoints by host; URLs can hold secrets. */
export function openSources(
  ecosystem: Ecosystem,
  logger: Pick<Logger, 'debug' | 'warn' | 'info'>,
): (chain: Chain) => ChainSource {
  const sources = new Map(
    ecosystem.chains.map((chain) => [
      chain.id,
      openRpcSource({
        chainId: chain.id,
        urls: chain.rpcUrls,
        onError: (event) => logger.debug({ chain: chain.name, ...event }, 'a node failed'),
        onEvent: (event) => reportEndpoint(logger, chain, event),
      }),
    ]),
  )
  return (chain) => {
    const source = sources.get(chain.id)
    if (source === undefined) throw new Error(`chain ${chain.name} has no source`)
    return source
  }
}

/** Logs nothing about nodes that work from the start. */
function reportEndpoint(
  logger: Pick<Logger, 'debug' | 'warn' | 'info'>,
  chain: Chain,
  event: EndpointEvent,
): void {
  const facts = { chain: chain.name, host: event.host, state: event.state, reason: event.reason }
  if (event.state === 'ok') logger.info(facts, 'node in use')
  else if (event.state !== 'probing') logger.warn(facts, 'node set aside')
}
