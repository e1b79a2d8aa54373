import type { Connection } from '#store/engine.ts'
import type { FileParts } from './file-part.ts'
import { readIndexedConfig, wasIndexed } from './tables.ts'

export interface MayLead {
  readonly file: FileParts
  /** Whether another process led since this one started, or this one before. */
  readonly hasWaited: boolean
}

/**
 * A new process imposes its file where none leads. A standby does not impose a previously applied one, which would undo an edit.
 */
export async function mayLead(
  connection: Connection,
  { file, hasWaited }: MayLead,
): Promise<boolean> {
  const indexed = await readIndexedConfig(connection)
  if (indexed === undefined || indexed.digest === file.digest) return true
  return !hasWaited || !(await wasIndexed(connection, file.digest))
}
