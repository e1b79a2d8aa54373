import type { Connection, Tables } from '#store/engine.ts'
import { column, rows, sql } from '#store/sql.ts'
import {
  type FilePart,
  type FileParts,
  type PartChange,
  type PartEntry,
  partChanges,
} from './file-part.ts'

/** The file that shaped the register, and all earlier ones in order. */
export const indexedConfigTables: Tables = `
    create table file_parts (
      chain_id bigint not null,
      name text not null,
      entries text not null,
      primary key (chain_id, name)
    );
    create table file_adoptions (
      sequence bigint primary key,
      digest text not null
    )`

const NO_CHAIN = 0

export interface IndexedConfig {
  readonly sequence: number
  readonly digest: string
}

export async function readIndexedConfig(
  connection: Connection,
): Promise<IndexedConfig | undefined> {
  const [row] = await connection.run(
    sql`select sequence, digest from file_adoptions order by sequence desc limit 1`,
  )
  return row && { sequence: column.integer(row, 'sequence'), digest: column.text(row, 'digest') }
}

export async function wasIndexed(connection: Connection, digest: string): Promise<boolean> {
  const found = await connection.run(
    sql`select sequence from file_adoptions where digest = ${digest} limit 1`,
  )
  return found.length > 0
}

export async function readFileParts(connection: Connection): Promise<readonly FilePart[]> {
  const found = await connection.run(
    sql`select chain_id, name, entries from file_parts order by chain_id, name`,
  )
  return found.map((row) => {
    const chainId = column.integer(row, 'chain_id')
    return {
      chainId: chainId === NO_CHAIN ? null : chainId,
      name: column.text(row, 'name'),
      entries: JSON.parse(column.text(row, 'entries')) as readonly PartEntry[],
    }
  })
}

export async function readOtherParts(
  connection: Connection,
  file: FileParts,
): Promise<readonly PartChange[]> {
  return partsThatDiffer(connection, await readIndexedConfig(connection), file)
}

export async function partsThatDiffer(
  connection: Connection,
  indexed: IndexedConfig | undefined,
  file: FileParts,
): Promise<readonly PartChange[]> {
  if (indexed === undefined || indexed.digest === file.digest) return []
  return partChanges(await readFileParts(connection), file.parts)
}

export async function writeIndexedConfig(
  connection: Connection,
  file: FileParts,
  sequence: number,
): Promise<void> {
  await connection.run(sql`delete from file_parts`)
  for (const { chainId, name, entries } of file.parts)
    await connection.run(sql`
      insert into file_parts (chain_id, name, entries)
      values ${rows([[chainId ?? NO_CHAIN, name, JSON.stringify(entries)]])}`)
  await connection.run(
    sql`insert into file_adoptions (sequence, digest) values (${sequence}, ${file.digest})`,
  )
}
