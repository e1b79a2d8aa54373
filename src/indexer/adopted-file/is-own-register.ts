import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { FileParts } from './file-part.ts'
import { readAdoption } from './tables.ts'

/**
 * Whether the register is built from this file, or from none yet. Asked for in the transaction of a
 * writer that does not hold the lease; no other file is adopted until that ends.
 */
export async function isOwnRegister(
  connection: Connection,
  file: Pick<FileParts, 'digest'>,
): Promise<boolean> {
  // Every adoption begins with this row, so that none comes in between.
  await connection.run(sql`update leases set epoch = epoch where name = 'index'`)
  const adoption = await readAdoption(connection)
  return adoption === undefined || adoption.digest === file.digest
}
