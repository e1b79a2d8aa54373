import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import { endBackfill, readBackfill, writeBackfill } from '../backfill/backfill-row.ts'
import { planReindex } from '../backfill/plan-backfill.ts'
import { unvalueToken, valueEvents } from '../events/value-events.ts'
import { resetAll } from '../feed/write-feed.ts'
import { removeChain, removeDatasets } from '../forget.ts'
import { readFinalized, readPosition } from '../positions.ts'
import { type CommitDeps, openChange } from '../transaction.ts'
import { CHAIN_PART, type PartChange, partChanges } from './file-part.ts'
import { type MayLead, mayLead } from './may-lead.ts'
import { readFileParts, readIndexedConfig, writeIndexedConfig } from './tables.ts'

export interface ApplyDeps extends CommitDeps, MayLead {
  readonly chains: readonly Chain[]
}

/**
 * Removes the rows of changed parts and schedules their re-index, in one transaction. Returns those
 * parts; undefined if another process applied a newer file.
 */
export async function applyConfig(deps: ApplyDeps): Promise<readonly PartChange[] | undefined> {
  const { engine, leader, file } = deps
  return engine.writeWithoutTimeout(async (connection) => {
    await leader.hold(connection)
    if (!(await mayLead(connection, deps))) return undefined
    const indexed = await readIndexedConfig(connection)
    if (indexed?.digest === file.digest) return []
    const changes = partChanges(await readFileParts(connection), file.parts)
    const followed = await followedChains(connection)
    const isNew = indexed === undefined && followed.length === 0
    if (!isNew) await removeChanged(deps, connection, { changes, followed })
    await writeIndexedConfig(connection, file, (indexed?.sequence ?? 0) + 1)
    await valueEvents(connection, deps.prices, deps.tokens)
    if (!isNew) await resetAll(connection, unixNow(deps.clock))
    return isNew ? [] : changes
  })
}

async function followedChains(connection: Connection): Promise<readonly number[]> {
  const found = await connection.run(sql`select chain_id from positions`)
  return found.map((row) => column.integer(row, 'chain_id'))
}

async function removeChanged(
  deps: ApplyDeps,
  connection: Connection,
  found: { readonly changes: readonly PartChange[]; readonly followed: readonly number[] },
): Promise<void> {
  const changed = Map.groupBy(found.changes, ({ chainId }) => chainId)
  const chainIds = new Set([...deps.chains.map(({ id }) => id), ...found.followed])
  for (const chainId of chainIds) {
    const names = (changed.get(chainId) ?? []).map(({ name }) => name)
    const chain = deps.chains.find(({ id }) => id === chainId)
    await removeOfChain(deps, connection, { chainId, chain, names })
  }
  for (const each of deps.datasets) await each.reconcile?.(connection, chainIds)
  for (const { name } of changed.get(null) ?? []) await unvalueToken(connection, name)
}

async function removeOfChain(
  deps: ApplyDeps,
  connection: Connection,
  input: {
    readonly chainId: number
    readonly chain: Chain | undefined
    readonly names: readonly string[]
  },
): Promise<void> {
  const { chainId, chain, names } = input
  if (chain !== undefined && names.length === 0) return
  const position = await readPosition(connection, chainId)
  const backfill = await readBackfill(connection, chainId)
  const finalizedNumber = await readFinalized(connection, chainId)
  const change = openChange(deps, { connection, chainId, finalizedNumber, isOlder: false })
  // Factories are read first, from the block where the old file began.
  if (position === undefined)
    return removeDatasets(
      change,
      deps.datasets.filter(({ origins }) => origins !== undefined),
    )
  const isWhole =
    names.includes(CHAIN_PART) || (backfill !== undefined && backfill.datasets === null)
  if (chain === undefined || isWhole) return removeChain(change, deps.datasets)
  const again = new Set([...names, ...(backfill?.datasets ?? [])])
  const datasets = deps.datasets.filter(({ name }) => again.has(name))
  await removeDatasets(change, datasets)
  await endBackfill(connection, chainId)
  const wanted = datasets
    .map(({ name }) => name)
    .filter((name) =>
      deps.file.parts.some((part) => part.chainId === chainId && part.name === name),
    )
  if (wanted.length > 0)
    await writeBackfill(connection, chainId, planReindex(chain.startBlock, position, wanted))
}
