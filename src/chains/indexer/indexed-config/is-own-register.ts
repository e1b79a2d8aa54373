import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { FileParts } from './file-part.ts'
import { readIndexedConfig } from './tables.ts'

/** True before the first file is applied too. Blocks applying another until the transaction ends. */
export async function isOwnRegister(
  connection: Connection,
  file: Pick<FileParts, 'digest'>,
): Promise<boolean> {
  // Applying a file locks this row first.
  await connection.run(sql`update leaders set epoch = epoch where name = 'index'`)
  const indexed = await readIndexedConfig(connection)
  return indexed === undefined || indexed.digest === file.digest
}
