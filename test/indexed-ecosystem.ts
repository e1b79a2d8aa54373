import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { allDatasets, registerMigrations } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Engine } from '#db/engine.ts'
import localEcosystem, { type LocalFile, onChains } from '#devnet/local-ecosystem.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { Leader } from '#index/leader.ts'
import { type IndexerDeps, runIndexer } from '#index/run-indexer.ts'
import { readIndexStatus } from '#index/status.ts'

const TWO_CHAINS = ['base', 'ethereum']

/** The local ecosystem on two chains and on further ones that have an address, by chain name. */
export function localEcosystemAt(
  rpcUrls: Readonly<Record<string, string>>,
  change: (file: LocalFile) => EcosystemFile = (file) => file,
): Ecosystem {
  const file = onChains(localEcosystem, [...TWO_CHAINS, ...Object.keys(rpcUrls)])
  const chains = file.chains.map((chain) => ({
    ...chain,
    rpcUrls: [rpcUrls[chain.name] ?? 'http://127.0.0.1:1'],
    pollIntervalMs: 100,
    // Made-up blocks have no provable hashes.
    proofs: 'deposits' as const,
  }))
  return parseEcosystem('local', change({ ...file, chains }))
}

/** The local ecosystem's first token on base alone, without its price. */
export function oneTokenEcosystemAt(
  rpcUrl: string,
  change: (one: EcosystemFile, all: LocalFile) => EcosystemFile = (one) => one,
): Ecosystem {
  return localEcosystemAt({ base: rpcUrl }, (all) => {
    const { service, chains, tokens } = all
    const one = {
      service,
      chains: chains.filter(({ name }) => name === 'base'),
      tokens: tokens.slice(0, 1).map(({ price: _, addresses: { base = '' }, ...token }) => ({
        ...token,
        addresses: { base },
      })),
    }
    return change(one, all)
  })
}

/** An indexer that runs beside the test. */
export interface RunningIndexer {
  /** Failures told so far, newest last. */
  readonly failures: readonly Error[]
  /** Resolves when the register stands at the head of every chain. */
  caughtUp(): Promise<void>
  /** Rejects when the indexer fails. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Starts an indexer on a register that is migrated. */
export function startIndexer(
  input: { readonly ecosystem: Ecosystem; readonly register: Engine; readonly clock?: Clock },
  more: Partial<IndexerDeps> = {},
): RunningIndexer {
  const { ecosystem, register, clock = systemClock } = input
  const stop = new AbortController()
  const failures: Error[] = []
  const sources = new Map(ecosystem.chains.map((chain) => [chain.id, openSource(chain)]))
  const running = runIndexer(
    {
      ecosystem,
      register,
      leader: new Leader({ engine: register, name: 'index' }),
      clock,
      datasets: allDatasets(ecosystem),
      prices: openPriceBook(ecosystem.tokens),
      sourceOf: (chain) => sources.get(chain.id) ?? openSource(chain),
      reportOf: () => ({
        event: () => undefined,
        read: () => undefined,
        failure: (error) => void failures.push(error),
      }),
      ...more,
    },
    stop.signal,
  )
  running.catch(() => undefined)
  return {
    failures,
    ended: running,
    caughtUp: () => untilCaughtUp(register, ecosystem, failures),
    async stop() {
      stop.abort()
      await running
    },
  }
}

export function openSource(chain: Chain): ChainSource {
  return openRpcSource({ chainId: chain.id, urls: chain.rpcUrls })
}

/** A register that does not reach the heads within this time never will. */
const CAUGHT_UP_MS = 60_000
const ASK_AGAIN_MS = 20

async function untilCaughtUp(
  register: Engine,
  ecosystem: Ecosystem,
  failures: readonly Error[],
): Promise<void> {
  const sources = ecosystem.chains.map(openSource)
  for (let waitedMs = 0; waitedMs < CAUGHT_UP_MS; waitedMs += ASK_AGAIN_MS) {
    const heads = await Promise.all(sources.map((source) => source.header('latest')))
    const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
    const there = status?.chains.every(({ blockHash }, index) => blockHash === heads[index]?.hash)
    if (there) return
    await sleep(ASK_AGAIN_MS)
  }
  throw new Error('the index did not catch up with the chains', { cause: failures.at(-1) })
}

export { registerMigrations }
