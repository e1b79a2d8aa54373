import type { Connection } from '#store/engine.ts'
import type { FileParts } from './file-part.ts'
import { partsThatDiffer, readAdoption, wasAdopted } from './tables.ts'

/** The register was built from another file, and this process may not change that. */
export class ChangedFileError extends Error {
  override readonly name = 'ChangedFileError'
  constructor(fields: readonly string[]) {
    super(
      `the register was built from another ecosystem file (${fields.join(', ')}); start with --on-changed-file=reread to read these parts again, or with the previous file`,
    )
  }
}

/** What to do if the register was built from another file. */
export type OnChangedFile = 'reread' | 'refuse'

/** A candidate for the index lease. */
export interface MayLead {
  readonly file: FileParts
  readonly onChangedFile: OnChangedFile
  /** Whether another process has led since this one started, or this one led before. */
  readonly hasWaited: boolean
}

/**
 * Whether an indexer may take the lease. A process that starts without a leader imposes its file. A
 * standby takes over with the register's file or a new one, but never with a previously adopted one;
 * otherwise a forgotten standby would undo an edit.
 */
export async function mayLead(
  connection: Connection,
  { file, onChangedFile, hasWaited }: MayLead,
): Promise<boolean> {
  const adopted = await readAdoption(connection)
  if (adopted === undefined || adopted.digest === file.digest) return true
  if (onChangedFile === 'refuse') {
    const changes = await partsThatDiffer(connection, adopted, file)
    throw new ChangedFileError(changes.flatMap(({ fields }) => fields))
  }
  return !hasWaited || !(await wasAdopted(connection, file.digest))
}
