import type { Address } from '#base/address.ts'
import { chunks } from '#base/async.ts'
import type { Log } from '#base/chain.ts'
import type { ChainSource, Position } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Connection, Tables } from '#db/engine.ts'
import { column, ROWS_PER_STATEMENT, rows, sql } from '#db/sql.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import type { Factory, Origins } from '#ecosystem/event-source.ts'
import type { FoundContracts } from '#ecosystem/found-contracts.ts'
import type { Emitters } from '#ecosystem/priced-token.ts'
import type { CommitDeps } from './commit.ts'
import type { Dataset } from './dataset.ts'
import { keyOfLog, keyOfSource, readContract } from './decode-event.ts'
import { askView } from './price-logs.ts'
import { type ReadDeps, readSegments } from './read-segments.ts'

/**
 * Contracts that others find their logs by, so this comes before all other datasets, and follows the head always. A log
 * that does not fit is an anomaly of the mappings that name the factory.
 */
export function contractsDataset(origins: Origins): Dataset<FoundContract> {
  const { factories } = origins
  const sets = [...factories, ...origins.emitters].map(({ found }) => found)
  const setsOf = (chainId: number) => sets.filter((set) => set.chainId === chainId)
  const madeOn = (chainId: number) =>
    factories.flatMap(({ found }) => (found.chainId === chainId ? [found] : []))
  const byKey = Map.groupBy(factories, ({ event }) => keyOfSource(event))
  const decode = (log: Log): readonly FoundContract[] =>
    (byKey.get(keyOfLog(log)) ?? []).flatMap((factory) => {
      const contract = findContract(factory, log)
      if (contract === undefined) return []
      return [{ found: factory.found, contract, block: log.blockNumber }]
    })
  return {
    name: 'contracts',
    origins,
    selectors: factories.map(({ event: { chain, address, topic0 } }) => ({
      chainId: chain.id,
      address,
      topic0,
    })),
    decode,
    learn: (logs) => addFound(logs.flatMap(decode)),
    load: (connection, chainId) => loadFound(connection, setsOf(chainId)),
    async apply({ connection }, facts) {
      addFound(facts)
      // The sets keep the first contracts of each factory.
      await insertFound(
        connection,
        facts.filter(({ found, contract }) => found.countsFrom(contract) !== undefined),
      )
    },
    async revert({ connection, chainId }, { number }) {
      const made = madeOn(chainId)
      await deleteFoundAbove(connection, made, number)
      for (const set of made) set.forgetAbove(number)
    },
  }
}

function addFound(facts: readonly FoundContract[]): void {
  for (const [found, own] of Map.groupBy(facts, (each) => each.found))
    found.add(own.map(({ contract, block }) => [contract, block]))
}

/** Undefined if the log does not fit. */
export function findContract(
  factory: Factory,
  log: Parameters<typeof readContract>[1],
): Address | undefined {
  try {
    return readContract(factory, log)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  }
}

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
  const missing = await deps.engine.snapshot((reads) => findMissing(reads, asked))
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
      const asking = ask(askView(source, address, `the price at ${address}`))
      const named = await asking.catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      )
      return { found, address, named }
    }),
  )
}

async function findMissing(connection: Connection, asked: readonly Asked[]) {
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

/** Reads what the factories made in blocks of history, before the logs of these contracts are read there. */
export async function readFactories(
  read: ReadDeps,
  { engine, leader, datasets, prices }: CommitDeps,
  { chainId, ...range }: { readonly chainId: number; readonly from: number; readonly to: number },
): Promise<void> {
  const contracts = datasets.filter(({ origins }) =>
    origins?.factories.some(({ found }) => found.chainId === chainId),
  )
  if (contracts.length === 0) return
  const input = { ...range, datasets: contracts }
  for await (const { staged, end } of readSegments(read, input))
    await engine.write(async (connection) => {
      await leader.hold(connection)
      for (const each of staged)
        await each.apply({ connection, chainId, finalizedNumber: end.number, prices })
    })
}

export const foundContractsTables: Tables = `
    create table found_contracts (
      chain_id bigint not null,
      origin text not null,
      contract text not null,
      block_number bigint not null,
      primary key (chain_id, origin, contract)
    )`

interface FoundContract {
  readonly found: FoundContracts
  readonly contract: Address
  readonly block: number
}

export async function insertFound(
  connection: Connection,
  facts: readonly FoundContract[],
): Promise<void> {
  const first = new Map<string, FoundContract>()
  for (const each of facts) {
    const key = `${each.found.key} ${each.contract}`
    if ((first.get(key)?.block ?? Number.POSITIVE_INFINITY) > each.block) first.set(key, each)
  }
  const list = [...first.values()].map(({ found: { chainId, key }, contract, block }) => [
    chainId,
    key,
    contract,
    block,
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into found_contracts (chain_id, origin, contract, block_number) values ${rows(part)}
      on conflict (chain_id, origin, contract) do update set block_number = excluded.block_number
        where excluded.block_number < found_contracts.block_number`)
}

/** Makes these sets what the register holds. */
async function loadFound(connection: Connection, sets: readonly FoundContracts[]): Promise<void> {
  for (const set of sets) {
    const found = await readFound(connection, set)
    set.forgetAbove(-1)
    set.add(found)
  }
}

export async function readFound(
  connection: Connection,
  { chainId, key }: Pick<FoundContracts, 'chainId' | 'key'>,
): Promise<readonly (readonly [Address, number])[]> {
  const found = await connection.run(sql`
    select contract, block_number from found_contracts
    where chain_id = ${chainId} and origin = ${key}`)
  return found.map((row) => [column.hex(row, 'contract'), column.integer(row, 'block_number')])
}

async function deleteFoundAbove(
  connection: Connection,
  sets: readonly FoundContracts[],
  block: number,
): Promise<void> {
  for (const { chainId, key } of sets)
    await connection.run(sql`
      delete from found_contracts
      where chain_id = ${chainId} and origin = ${key} and block_number > ${block}`)
}
