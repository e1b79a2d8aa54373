import type { Connection } from '#store/engine.ts'
import type { FileParts } from './file-part.ts'
import { partsThatDiffer, readIndexedConfig, wasIndexed } from './tables.ts'

export class ChangedFileError extends Error {
  override readonly name = 'ChangedFileError'
  constructor(fields: readonly string[]) {
    super(
      `the register was built from another ecosystem file (${fields.join(', ')}); start with --on-changed-file=reread to read these parts again, or with the previous file`,
    )
  }
}

export type OnChangedFile = 'reread' | 'refuse'

export interface MayLead {
  readonly file: FileParts
  readonly onChangedFile: OnChangedFile
  /** Whether another process led since this one started, or this one before. */
  readonly hasWaited: boolean
}

/**
 * A new process imposes its file where none leads. A standby does not impose a previously applied one, which would undo an edit.
 */
export async function mayLead(
  connection: Connection,
  { file, onChangedFile, hasWaited }: MayLead,
): Promise<boolean> {
  const indexed = await readIndexedConfig(connection)
  if (indexed === undefined || indexed.digest === file.digest) return true
  if (onChangedFile === 'refuse') {
    const changes = await partsThatDiffer(connection, indexed, file)
    throw new ChangedFileError(changes.flatMap(({ fields }) => fields))
  }
  return !hasWaited || !(await wasIndexed(connection, file.digest))
}
