import type { Position } from '#chains/chain/chain-event.ts'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { Emitters } from '#chains/ecosystem/priced-token.ts'
import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import type { CommitDeps } from '../commit.ts'
import { askOf } from '../price-logs.ts'
import { insertFound, readFound } from './table.ts'

type EmitterDeps = CommitDeps & { readonly source: ChainSource }

interface Asked extends Pick<Emitters, 'found' | 'address'> {
  /** Or why the node does not say. */
  readonly named: readonly Address[] | Error
}

/**
 * Asks which contracts emit prices. Those of a chain that is not read yet count from its start; one that a feed names
 * later counts from the block after `position`.
 */
export async function followEmitters(
  deps: EmitterDeps,
  chain: Chain,
  position: Position | undefined,
): Promise<void> {
  const asked = await askEmitters(deps, chain)
  if (asked.length === 0) return
  const missing = await deps.engine.snapshot((reads) => missingOf(reads, asked))
  if (missing.length === 0) return
  const block = position === undefined ? 0 : position.number + 1
  await deps.engine.write(async (connection) => {
    await deps.leader.hold(connection)
    await insertFound(
      connection,
      missing.map((each) => ({ ...each, block })),
    )
  })
}

async function askEmitters(
  { datasets, source }: EmitterDeps,
  { id }: Chain,
): Promise<readonly Asked[]> {
  const emitters = datasets
    .flatMap(({ origins }) => origins?.emitters ?? [])
    .filter(({ found }) => found.chainId === id)
  return Promise.all(
    emitters.map(async ({ found, address, ask }) => {
      const asking = ask(askOf(source, address, `the price at ${address}`))
      const named = await asking.catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      )
      return { found, address, named }
    }),
  )
}

async function missingOf(connection: Connection, asked: readonly Asked[]) {
  const lists = asked.map(async ({ found, address, named }) => {
    const stored = new Map(await readFound(connection, found))
    // A chain is followed with the aggregators that are known; nodes are asked again later.
    if (named instanceof Error) {
      if (stored.size > 0) return []
      throw new RpcError(`no node names what emits the price at ${address}`, { cause: named })
    }
    // Nodes that fail to say the phases make no aggregator of a proxy.
    const isNews = (each: Address) => !stored.has(each) && (each !== address || stored.size === 0)
    const missing = named.filter(isNews)
    return missing.map((contract) => ({ found, contract }))
  })
  return (await Promise.all(lists)).flat()
}
