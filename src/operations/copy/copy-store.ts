import type { ProgressBoard } from '#main/role-context.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import { dialectOf } from '#store/dialects.ts'
import type { StoreState } from '#store/stream-table.ts'
import {
  type CopiedTables,
  copyTables,
  countRows,
  digestTables,
  type TableDigests,
  tableWithRows,
  unequalTables,
} from './copy-tables.ts'

export interface CopyTask {
  /** Shown with the progress. */
  readonly name: string
  readonly progress: Pick<ProgressBoard, 'update'>
}

/**
 * Fills the empty tables of a migrated store, reads them back and compares the digests, all within the
 * transactions of both sides.
 */
export async function copyStore(
  source: StoreState,
  target: StoreState,
  { tables, migrations }: CopiedTables,
  { name, progress }: CopyTask,
): Promise<TableDigests> {
  await requireEmpty(target, tables)
  const total = 2 * (await countRows(source.connection, tables))
  let done = 0
  const onRows = (count: number) => {
    done += count
    progress.update(name, done, total)
  }
  const copied = { tables, migrations, onRows }
  const { connection } = target
  const { beforeCopy, afterCopy } = dialectOf(target)
  await beforeCopy(connection, tables)
  const read = await copyTables(source, connection, copied)
  // The audit checks the rows, and that the guards are on again.
  await afterCopy(connection, tables)
  const unequal = unequalTables(read, await digestTables(target, copied))
  if (unequal.length > 0) throw new UpkeepError(`the copies differ in ${unequal.join(', ')}`)
  return read
}

export async function requireEmpty(target: StoreState, tables: readonly string[]): Promise<void> {
  const table = await tableWithRows(target.connection, tables)
  if (table !== undefined)
    throw new UpkeepError(
      `the target has rows in "${table}"; name a new folder or an empty database`,
    )
}
