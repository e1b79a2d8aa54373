import { type ChainName, chainIds } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import type { Chance } from './chance.ts'
import type { FastTime } from './fast-time.ts'
import { beginSimulatedChain, type SimulatedChain } from './simulated-chain.ts'

/** The chains of one simulation, and the ecosystem that lives on them. */
export interface World {
  readonly chains: readonly SimulatedChain[]
  /** As the indexer under test sees it. */
  readonly ecosystem: Ecosystem
  /** The same, through a node of each chain that never fails. */
  readonly honest: Ecosystem
  stop(): Promise<void>
}

/** Makes the world of a seed. */
export async function makeWorld(deps: {
  readonly chance: Chance
  readonly time: FastTime
}): Promise<World> {
  const { chance, time } = deps
  const names: readonly ChainName[] = chance.happens(0.7) ? ['base', 'ethereum'] : ['base']
  const headUnix = Math.floor(time.now() / 1_000)
  const chains: SimulatedChain[] = []
  for (const name of names)
    chains.push(
      await beginSimulatedChain(
        { chance: chance.apart(name), watch: time },
        {
          name,
          id: chainIds[name],
          history: chance.weighted<() => { blocks: number; days: number }>([
            [7, () => ({ blocks: chance.integer(50, 150), days: chance.integer(1, 20) })],
            [4, () => ({ blocks: chance.integer(80, 400), days: chance.integer(20, 90) })],
            [1, () => ({ blocks: chance.integer(400, 3_000), days: chance.integer(30, 90) })],
          ])(),
          nodes: chance.integer(1, 3),
          headUnix,
        },
      ),
    )
  const pollIntervalMs = chance.pick([100, 500, 2_000])
  const urlsOf = (chain: SimulatedChain) => chain.nodes.map((node) => node.served.url)
  return {
    chains,
    ecosystem: ecosystemOn(chains, { pollIntervalMs, urlsOf }),
    honest: ecosystemOn(chains, { pollIntervalMs: 100, urlsOf: (chain) => [chain.honest.url] }),
    async stop() {
      for (const chain of chains) await chain.stop()
    },
  }
}

function ecosystemOn(
  chains: readonly SimulatedChain[],
  config: {
    readonly pollIntervalMs: number
    urlsOf(chain: SimulatedChain): readonly string[]
  },
): Ecosystem {
  const byName = new Map(chains.map((chain) => [chain.name as string, chain]))
  const isThere = ({ chain }: { readonly chain: string }) => byName.has(chain)
  return localEcosystemAt({}, (file) => ({
    ...file,
    chains: file.chains.flatMap((each) => {
      const chain = byName.get(each.name)
      if (chain === undefined) return []
      const { finality, startBlock } = chain
      const rpcUrls = [...config.urlsOf(chain)]
      return [{ ...each, rpcUrls, finality, startBlock, pollIntervalMs: config.pollIntervalMs }]
    }),
    tokens: file.tokens.map((token) => ({ ...token, addresses: onlyOf(token.addresses, byName) })),
    burns: file.burns.filter(isThere),
    dividends: file.dividends.filter(isThere),
    graveDigs: file.graveDigs.filter(isThere),
  }))
}

function onlyOf(
  given: EcosystemFile['tokens'][number]['addresses'],
  names: ReadonlyMap<string, unknown>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)))
}
