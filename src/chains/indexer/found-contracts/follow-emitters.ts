import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { Emitters } from '#chains/ecosystem/priced-token.ts'
import type { Address } from '#domain/address.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { forgetAll } from '../chain-notes.ts'
import { askOf } from '../price-logs.ts'
import type { CommitDeps } from '../transaction.ts'
import { insertFound, readFound } from './table.ts'

type EmitterDeps = CommitDeps & { readonly source: ChainSource }

interface Asked extends Pick<Emitters, 'found' | 'address'> {
  /** Or why the node does not say. */
  readonly named: readonly Address[] | Error
}

/**
 * Asks which contracts emit prices. Once there is another one, everything is read again, since it emitted before it was
 * noticed.
 */
export async function followEmitters(deps: EmitterDeps, chain: Chain): Promise<void> {
  const asked = await askEmitters(deps, chain)
  if (asked.length === 0) return
  if ((await deps.engine.snapshot((reads) => missingOf(reads, asked))).length === 0) return
  await deps.engine.writeWithoutTimeout(async (connection) => {
    await deps.leader.hold(connection)
    let missing = await missingOf(connection, asked)
    if (missing.some(({ isKnown }) => isKnown)) {
      await forgetAll(connection, unixNow(deps.clock))
      missing = await missingOf(connection, asked)
    }
    await insertFound(
      connection,
      missing.map(({ found, contract }) => ({ found, contract, block: 0 })),
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
    return missing.map((contract) => ({ found, contract, isKnown: stored.size > 0 }))
  })
  return (await Promise.all(lists)).flat()
}
