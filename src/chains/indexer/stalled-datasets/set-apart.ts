import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { endBackfill, readBackfill, writeBackfill } from '../backfill/backfill-row.ts'
import { planReindex } from '../backfill/plan-backfill.ts'
import { resetAll } from '../feed/write-feed.ts'
import { removeDatasets } from '../forget.ts'
import { readFinalized, readPosition } from '../positions.ts'
import { type CommitDeps, openChange } from '../transaction.ts'
import { forgetStalledDataset, readStalledDatasets, writeStalledDataset } from './table.ts'

interface Stalled {
  readonly dataset: string
  readonly detail: string
}

/** Names of the datasets that are not read on the chain. */
export async function readSetApart(
  { engine }: Pick<CommitDeps, 'engine'>,
  chainId: number,
): Promise<ReadonlySet<string>> {
  const all = await engine.snapshot(readStalledDatasets)
  return new Set(
    all.filter((each) => each.chainId === chainId && each.waits).map(({ dataset }) => dataset),
  )
}

/**
 * Removes the dataset's rows on the chain and leaves it out of what is read, so that the others go
 * on. A dataset that is re-indexed alone stays, since nothing waits for it. Nothing may be in flight.
 */
export async function setApart(
  deps: CommitDeps,
  { id: chainId }: Chain,
  { dataset: name, detail }: Stalled,
): Promise<'apart' | 'alone'> {
  return deps.engine.writeWithoutTimeout(async (connection) => {
    await deps.leader.hold(connection)
    const backfill = await readBackfill(connection, chainId)
    if (backfill?.datasets?.length === 1 && backfill.datasets[0] === name) {
      await writeStalledDataset(connection, { chainId, dataset: name, detail, waits: false })
      return 'alone'
    }
    const finalizedNumber = await readFinalized(connection, chainId)
    const change = openChange(deps, { connection, chainId, finalizedNumber, isOlder: false })
    await removeDatasets(
      change,
      deps.datasets.filter((each) => each.name === name),
    )
    const others = backfill?.datasets?.filter((each) => each !== name)
    if (backfill !== undefined && others !== undefined) {
      await endBackfill(connection, chainId)
      if (others.length > 0)
        await writeBackfill(connection, chainId, { ...backfill, datasets: others })
    }
    await writeStalledDataset(connection, { chainId, dataset: name, detail, waits: true })
    await resetAll(connection, unixNow(deps.clock))
    return 'apart'
  })
}

/** Ends the re-index of one dataset and begins the next that is set apart. Call it when nothing else is read. */
export async function reindexNext(deps: CommitDeps, chain: Chain): Promise<'again' | 'none'> {
  const stalled = await deps.engine.snapshot(readStalledDatasets)
  const own = stalled.filter(({ chainId }) => chainId === chain.id)
  if (own.length === 0) return 'none'
  return deps.engine.write(async (connection) => {
    await deps.leader.hold(connection)
    for (const each of own.filter(({ waits }) => !waits))
      await forgetStalledDataset(connection, each)
    const next = own.find(({ waits }) => waits)
    if (next === undefined) return 'none'
    await beginReindex(connection, chain, next.dataset)
    await writeStalledDataset(connection, { ...next, waits: false })
    return 'again'
  })
}

async function beginReindex(connection: Connection, chain: Chain, dataset: string): Promise<void> {
  const position = await readPosition(connection, chain.id)
  if (position === undefined) return
  await writeBackfill(connection, chain.id, planReindex(chain.startBlock, position, [dataset]))
}
