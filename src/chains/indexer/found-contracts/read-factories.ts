import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { CommitDeps } from '../commit.ts'
import type { AnyDataset } from '../dataset.ts'
import { type ReadDeps, readSegments } from '../read-segments.ts'
import { readFactories, writeFactories } from './table.ts'

/**
 * Reads what the factories made in blocks of history, before the logs of these contracts are read there. Returns whether
 * any block was read.
 * `known`: a block up to which all of them are stored anyway, because the head was followed.
 */
export async function readFactoriesUpTo(
  read: ReadDeps,
  deps: CommitDeps,
  { chain, to, known }: { readonly chain: Chain; readonly to: number; readonly known: number },
): Promise<boolean> {
  const { id: chainId, startBlock } = chain
  const contracts = deps.datasets.find(({ origins }) => origins !== undefined)
  const origins = factoriesOn(contracts, chainId)
  if (contracts === undefined || origins.length === 0) return false
  const stored = await deps.engine.snapshot((reads) => readFactories(reads, chainId))
  const ends = origins.map((origin) => {
    const end = stored.get(origin)
    return end === undefined ? startBlock - 1 : Math.max(end, known)
  })
  const from = Math.min(...ends) + 1
  if (from > to) return false
  const segments = readSegments(read, {
    ...{ from, to, datasets: [contracts] },
    hoursFromUnix: Number.POSITIVE_INFINITY,
  })
  for await (const { staged, end } of segments)
    await deps.engine.write(async (connection) => {
      await deps.leader.hold(connection)
      const change = { connection, chainId, finalizedNumber: end.number, prices: deps.prices }
      for (const each of staged) await each.apply(change)
      await writeFactories(connection, chainId, { origins, to: end.number })
    })
  return true
}

function factoriesOn(contracts: AnyDataset | undefined, chainId: number): readonly string[] {
  const { factories = [] } = contracts?.origins ?? {}
  return factories.flatMap(({ found }) => (found.chainId === chainId ? [found.key] : []))
}
