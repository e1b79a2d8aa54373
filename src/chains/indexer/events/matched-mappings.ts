import type { EventSource } from '#chains/ecosystem/ecosystem.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'

export const matchedMappingsTables: Tables = `
    create table matched_mappings (
      chain_id bigint not null,
      dataset text not null,
      mapping text not null,
      primary key (chain_id, dataset, mapping)
    )`

/** The name does not depend on the mapping's place in the file. */
export function mappingKey({ address, topic0, where, whereNot }: EventSource): string {
  const filters = [...where].map(([name, values]) => [name, [...values].sort()])
  const refused = [...whereNot].map(([name, values]) => [name, 'not', [...values].sort()])
  return `${address} ${topic0} ${JSON.stringify([...filters, ...refused].sort())}`
}

export async function noteMatched(
  connection: Connection,
  dataset: string,
  sources: readonly EventSource[],
): Promise<void> {
  if (sources.length === 0) return
  const list = sources.map((source) => [source.chain.id, dataset, mappingKey(source)])
  await connection.run(sql`
    insert into matched_mappings (chain_id, dataset, mapping) values ${rows(list)}
    on conflict do nothing`)
}

export async function forgetMatched(
  connection: Connection,
  dataset: string,
  chainId: number,
): Promise<void> {
  await connection.run(sql`
    delete from matched_mappings where dataset = ${dataset} and chain_id = ${chainId}`)
}

export async function readUnmatched<Source extends EventSource>(
  connection: Connection,
  dataset: string,
  sources: readonly Source[],
): Promise<readonly Source[]> {
  const found = await connection.run(sql`
    select chain_id, mapping from matched_mappings where dataset = ${dataset}`)
  const matched = new Set(
    found.map((row) => `${column.integer(row, 'chain_id')} ${column.text(row, 'mapping')}`),
  )
  return sources.filter((source) => !matched.has(`${source.chain.id} ${mappingKey(source)}`))
}
