import type { Readiness } from '#api/health-routes.ts'
import type { Engine } from '#db/engine.ts'
import { type ChainName, chainIds } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import {
  type BlockPlan,
  type BuiltChain,
  beginChain,
  type LogPlan,
} from '#test/chain-builder/built-chain.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { followChains } from '#test/hostile-tokens/follow-chains.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import type { ReadBody } from './recompute/compare-figures.ts'
import { dataRoutesOf, readRoute } from './route-reader.ts'

export const GENESIS_UNIX = 1_700_000_000

/** More blocks than an index reads one by one below the final block. */
const OLD = 120

/** A made-up chain of base, followed or read as history. */
export interface TokenWorld {
  readonly node: ServedChain
  readonly ecosystem: Ecosystem
  /** Reads on until nothing happens any more. */
  catchUp(): Promise<void>
  readonly failures: () => readonly Error[]
  read(target: string): Promise<ReadBody>
  readiness(): Promise<Readiness>
}

/** `file` changes the local ecosystem, on base alone. */
export async function inTokenWorld(
  register: Engine,
  input: {
    readonly chain: BuiltChain
    readonly file?: (file: LocalFile) => EcosystemFile
  },
  work: (world: TokenWorld) => Promise<void>,
): Promise<void> {
  const node = await serveChain(input.chain)
  try {
    const change = input.file ?? ((file: LocalFile) => file)
    const ecosystem = localEcosystemAt({ base: node.url }, (file) => change(onBase(file)))
    const followed = await followChains(register, ecosystem)
    const routes = dataRoutesOf({ register, ecosystem })
    await work({
      node,
      ecosystem,
      failures: followed.failures,
      async catchUp() {
        for (const chain of ecosystem.chains) while (await followed.advance(chain));
      },
      read: (target) => readRoute(routes, target),
      readiness: () => readinessOf(register, ecosystem),
    })
  } finally {
    await node.stop()
  }
}

/** Base with these transactions, each in a block of its own. */
export function baseWith(...transactions: readonly (readonly LogPlan[])[]): BuiltChain {
  return beginChain(chainIds.base, GENESIS_UNIX)
    .addEmpty(1)
    .add(...transactions.map(inOne))
}

/** The same, so old that it is read as ranges of history. */
export function oldBaseWith(...transactions: readonly (readonly LogPlan[])[]): BuiltChain {
  return baseWith(...transactions).addEmpty(OLD)
}

/** A block of one transaction. */
export function inOne(logs: readonly LogPlan[], index = 0): BlockPlan {
  return { logs: logs.map((log) => ({ transaction: `one ${index}`, ...log })) }
}

export function onBase(file: LocalFile): LocalFile {
  const isOn = ({ chain }: { readonly chain: string }) => chain === ('base' satisfies ChainName)
  return {
    ...file,
    chains: file.chains.filter(({ name }) => name === 'base'),
    tokens: file.tokens.map(({ addresses: { base = '' }, ...token }) => ({
      ...token,
      addresses: { base },
    })),
    burns: file.burns.filter(isOn),
    dividends: file.dividends.filter(isOn),
    graveDigs: file.graveDigs.filter(isOn),
  }
}
