import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { FoundContracts } from '#chains/ecosystem/found-contracts.ts'
import type { Emitters } from '#chains/ecosystem/priced-token.ts'
import type { Address } from '#domain/address.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { endBackfill, readBackfill, writeBackfill } from '../backfill/backfill-row.ts'
import { planReindex } from '../backfill/plan-backfill.ts'
import { resetAll } from '../feed/write-feed.ts'
import { removeDatasets } from '../forget.ts'
import { readFinalized, readPosition } from '../positions.ts'
import { askOf } from '../price-logs.ts'
import { type CommitDeps, openChange } from '../transaction.ts'
import { insertFound, readFound } from './table.ts'

type EmitterDeps = CommitDeps & { readonly source: ChainSource }

interface Asked extends Pick<Emitters, 'found' | 'address'> {
  /** Or why the node does not say. */
  readonly named: readonly Address[] | Error
}

/**
 * Asks which contracts emit prices. Once there is another one, the prices of its chain are read again, since it emitted
 * before it was noticed.
 */
export async function followEmitters(deps: EmitterDeps, chain: Chain): Promise<void> {
  const asked = await askEmitters(deps, chain)
  if (asked.length === 0) return
  if ((await deps.engine.snapshot((reads) => missingOf(reads, asked))).length === 0) return
  await deps.engine.writeWithoutTimeout(async (connection) => {
    await deps.leader.hold(connection)
    const missing = await missingOf(connection, asked)
    const changed = missing.filter(({ isKnown }) => isKnown).map(({ found }) => found)
    if (changed.length > 0 && !(await readAgain(deps, connection, { chain, changed }))) return
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

/** False while the whole chain is read for the first time: later. */
async function readAgain(
  deps: CommitDeps,
  connection: Connection,
  { chain, changed }: { readonly chain: Chain; readonly changed: readonly FoundContracts[] },
): Promise<boolean> {
  const { id: chainId, startBlock } = chain
  const backfill = await readBackfill(connection, chainId)
  const position = await readPosition(connection, chainId)
  if (position === undefined || backfill?.datasets === null) return false
  const names = new Set(backfill?.datasets)
  const isOf = ({ name, selectors }: CommitDeps['datasets'][number]) =>
    names.has(name) || selectors.some(({ found }) => found !== undefined && changed.includes(found))
  const datasets = deps.datasets.filter(isOf)
  const finalizedNumber = await readFinalized(connection, chainId)
  const change = openChange(deps, { connection, chainId, finalizedNumber, isOlder: false })
  await removeDatasets(change, datasets)
  await endBackfill(connection, chainId)
  const again = datasets.map(({ name }) => name)
  await writeBackfill(connection, chainId, planReindex(startBlock, position, again))
  await resetAll(connection, unixNow(deps.clock))
  await deps.leader.hold(connection)
  return true
}
