import type { Logger } from 'pino'
import type { ChainSource } from '#chain/chain-source.ts'
import type { EndpointEvent } from '#chain/endpoints/endpoint.ts'
import { openLogsThread } from '#chain/endpoints/logs-thread.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { allDatasets } from '#datasets/datasets.ts'
import {
  type KeepProvingDepositsDeps,
  keepProvingDeposits,
} from '#datasets/deposits/proof/keep-proving-deposits.ts'
import { UnexplainedBalanceError } from '#datasets/holders/fold-balances.ts'
import { findPruned } from '#datasets/holders/proof/find-pruned.ts'
import { keepProving } from '#datasets/holders/proof/keep-proving.ts'
import type { Proof } from '#datasets/holders/proof/proof-row.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { proveEcosystem } from '#indexer/prove-ecosystem.ts'
import { runIndexer } from '#indexer/run-indexer.ts'
import { readIndexStatus } from '#indexer/status.ts'
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
  await Promise.all([expectHistories(role, sourceOf), proveEcosystem(ecosystem, sourceOf)])
  const proving = {
    ecosystem,
    register,
    sourceOf: (chainId: number) => sourceOf(chainOf(ecosystem, chainId)),
  }
  let isIndexing = false
  const rereadings = new Set<number>()
  const tellLease = reportLease(logger)
  const indexing = runIndexer(
    {
      ecosystem,
      register,
      clock,
      datasets: allDatasets(ecosystem),
      prices: makeDollarPrices(ecosystem.tokens),
      sourceOf,
      findPruned: async (error) =>
        error instanceof UnexplainedBalanceError ? findPruned(proving, error) : [],
      takeRereading: (chainId) => rereadings.delete(chainId),
      reportOf: (chain) => makeChainReport({ ...role, chain, source: sourceOf(chain) }),
      onLease(held) {
        isIndexing = held
        tellLease(held)
      },
    },
    signal,
  )
  const keeping = keepProving(
    {
      ...proving,
      clock,
      isIndexing: () => isIndexing,
      readAgain: (chainId) => void rereadings.add(chainId),
      onProof: (proof) => reportProof(logger, chainOf(ecosystem, proof.chainId), proof),
    },
    signal,
  )
  const payments = keepProvingDeposits(
    {
      ...proving,
      payment: ecosystem.payment,
      clock,
      isIndexing: () => isIndexing,
      report: (news) => reportDeposit(logger, ecosystem.payment.chain, news),
    },
    signal,
  )
  await Promise.all([indexing, keeping, payments])
}

/** What reads history gets ready while the file is held against the chains. */
async function expectHistories(
  { ecosystem, register }: Pick<IndexRole, 'ecosystem' | 'register'>,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<void> {
  const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
  for (const [index, chain] of ecosystem.chains.entries())
    if (status?.chains[index]?.backfill !== null) sourceOf(chain).expectHistory()
}

function chainOf(ecosystem: Ecosystem, chainId: number): Chain {
  const chain = ecosystem.chains.find((each) => each.id === chainId)
  if (chain === undefined) throw new Error(`chain ${chainId} is not in the ecosystem`)
  return chain
}

function reportProof(logger: Logger, chain: Chain, proof: Proof): void {
  const facts = { chain: chain.name, block: proof.blockNumber, figures: proof.checked }
  if (proof.verdict === 'agrees') logger.info(facts, 'the register equals the token contracts')
  else if (proof.verdict === 'differs')
    logger.error(
      { ...facts, reason: proof.detail },
      'the register differs from the token contracts',
    )
  else logger.warn({ ...facts, reason: proof.detail }, 'the token contracts could not be asked')
}

function reportDeposit(
  logger: Logger,
  { name: chain }: Chain,
  { kind, ...facts }: Parameters<KeepProvingDepositsDeps['report']>[0],
): void {
  if (kind === 'corrected') logger.error({ chain, ...facts }, 'deposits were corrected')
  else if (kind === 'unexplained')
    logger.error({ chain, ...facts }, 'no deposit explains a balance')
  else logger.warn({ chain, ...facts }, 'a deposit waits for a proof')
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
  logger: Pick<Logger, 'debug' | 'warn' | 'info'>,
): ReadonlyMap<number, ChainSource> {
  const fetcher = openLogsThread()
  return new Map(
    ecosystem.chains.map((chain) => [
      chain.id,
      openRpcSource({
        fetcher,
        chainId: chain.id,
        urls: chain.rpcUrls,
        onError: (event) => logger.debug({ chain: chain.name, ...event }, 'a node failed'),
        onEvent: (event) => reportEndpoint(logger, chain, event),
      }),
    ]),
  )
}

/** What an operator must know of a node; that one is well from the start is no news. */
function reportEndpoint(
  logger: Pick<Logger, 'debug' | 'warn' | 'info'>,
  chain: Chain,
  event: EndpointEvent,
): void {
  const facts = { chain: chain.name, host: event.host, state: event.state, reason: event.reason }
  if (event.state === 'ok') logger.info(facts, 'a node is well')
  else if (event.state !== 'probing') logger.warn(facts, 'a node is left aside')
}
