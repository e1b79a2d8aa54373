import type { Engine } from '#store/engine.ts'
import { copiedRegister } from '../copied-stores.ts'
import {
  copyTables,
  countRows,
  proveTables,
  type TableProofs,
  tableWithRows,
  unequalTables,
} from '../copy-tables.ts'
import { UpkeepError } from '../upkeep-error.ts'

/**
 * One state of the register, while the old service goes on; the new index reads what came later.
 * Undefined if the target has a register already.
 */
export async function moveRegister(
  source: Engine,
  target: Engine,
  onProgress: (done: number, total: number) => void,
): Promise<TableProofs | undefined> {
  const { tables, migrations } = copiedRegister()
  return source.snapshot((reads) =>
    target.writeWithoutTimeout(async (tx) => {
      if ((await tableWithRows(tx, tables)) !== undefined) return undefined
      const total = 2 * (await countRows(reads, tables))
      let done = 0
      const onRows = (count: number) => {
        done += count
        onProgress(done, total)
      }
      const copied = { tables, migrations, onRows }
      const from = { connection: reads, dialect: source.dialect }
      const read = await copyTables(from, tx, copied)
      const stored = await proveTables({ connection: tx, dialect: target.dialect }, copied)
      const unequal = unequalTables(read, stored)
      if (unequal.length > 0) throw new UpkeepError(`the copies differ in ${unequal.join(', ')}`)
      return read
    }),
  )
}
