import type { FoundContracts } from '#chains/ecosystem/found-contracts.ts'
import type { Address } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'

/** `read_number`: up to which block the factory's events are read, wherever the position is. */
export const foundContractsTables: Tables = `
    create table found_contracts (
      chain_id bigint not null,
      origin text not null,
      contract text not null,
      block_number bigint not null,
      primary key (chain_id, origin, contract)
    );
    create table factories (
      chain_id bigint not null,
      origin text not null,
      read_number bigint not null,
      primary key (chain_id, origin)
    )`

export interface FoundContract {
  readonly found: FoundContracts
  readonly contract: Address
  readonly block: number
}

/** Keeps the first `max` contracts of each origin by block and address, so that two registers keep the same. */
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
  for (const found of new Set(facts.map((each) => each.found)))
    await deleteBeyond(connection, found)
}

async function deleteBeyond(
  connection: Connection,
  { chainId, key, max }: FoundContracts,
): Promise<void> {
  const own = sql`chain_id = ${chainId} and origin = ${key}`
  const [row] = await connection.run(
    sql`select count(*) as found from found_contracts where ${own}`,
  )
  const beyond = Number(row?.found) - max
  if (beyond <= 0) return
  await connection.run(sql`
    delete from found_contracts where ${own} and contract in (
      select contract from found_contracts where ${own}
      order by block_number desc, contract desc limit ${beyond})`)
}

/** Makes these sets what the register holds. */
export async function loadFound(
  connection: Connection,
  sets: readonly FoundContracts[],
): Promise<void> {
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

export async function deleteFoundAbove(
  connection: Connection,
  sets: readonly FoundContracts[],
  block: number,
): Promise<void> {
  for (const { chainId, key } of sets)
    await connection.run(sql`
      delete from found_contracts
      where chain_id = ${chainId} and origin = ${key} and block_number > ${block}`)
}

/** Returns by origin up to which block its events are read. */
export async function readFactories(
  connection: Connection,
  chainId: number,
): Promise<ReadonlyMap<string, number>> {
  const found = await connection.run(
    sql`select origin, read_number from factories where chain_id = ${chainId}`,
  )
  return new Map(
    found.map((row) => [column.text(row, 'origin'), column.integer(row, 'read_number')]),
  )
}

export async function writeFactories(
  connection: Connection,
  chainId: number,
  { origins, to }: { readonly origins: readonly string[]; readonly to: number },
): Promise<void> {
  const list = [...new Set(origins)].map((origin) => [chainId, origin, to])
  await connection.run(sql`
    insert into factories (chain_id, origin, read_number) values ${rows(list)}
    on conflict (chain_id, origin) do update set read_number = excluded.read_number`)
}
