import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { FileParts } from './file-part.ts'
import { readAdoption } from './tables.ts'

/**
 * Whether the register is built from this file, or from none yet. For transactions that write without
 * the lease: no other file can be adopted before they end.
 */
export async function isOwnRegister(
  connection: Connection,
  file: Pick<FileParts, 'digest'>,
): Promise<boolean> {
  // Locks the row that every adoption takes first.
  await connection.run(sql`update leases set epoch = epoch where name = 'index'`)
  const adoption = await readAdoption(connection)
  return adoption === undefined || adoption.digest === file.digest
}
