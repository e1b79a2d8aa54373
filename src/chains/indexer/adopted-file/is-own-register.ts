import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { FileParts } from './file-part.ts'
import { readAdoption } from './tables.ts'

/** True before the first adoption too. Blocks adoptions until the transaction ends. */
export async function isOwnRegister(
  connection: Connection,
  file: Pick<FileParts, 'digest'>,
): Promise<boolean> {
  // Every adoption locks this row first.
  await connection.run(sql`update leases set epoch = epoch where name = 'index'`)
  const adoption = await readAdoption(connection)
  return adoption === undefined || adoption.digest === file.digest
}
