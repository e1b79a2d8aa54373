import { type Clock, unixNow } from '#lib/time.ts'
import type { Fence } from '#operations/jobs/leader.ts'
import type { Engine } from '#store/engine.ts'
import { forgetAll } from '../forget.ts'
import { type PartChange, partChanges } from './file-part.ts'
import { type MayLead, mayLead } from './may-lead.ts'
import { readFileParts, readIndexedConfig, writeIndexedConfig } from './tables.ts'

export interface ApplyDeps extends MayLead {
  readonly engine: Engine
  readonly leader: Fence
  readonly clock: Clock
}

/**
 * Empties a register that was built from another file, so that all of it is read again. Returns the parts
 * that changed; undefined if another process applied a newer file.
 */
export async function applyConfig(deps: ApplyDeps): Promise<readonly PartChange[] | undefined> {
  const { engine, leader, clock, file } = deps
  return engine.writeWithoutTimeout(async (connection) => {
    await leader.hold(connection)
    if (!(await mayLead(connection, deps))) return undefined
    const indexed = await readIndexedConfig(connection)
    if (indexed?.digest === file.digest) return []
    const changes =
      indexed === undefined ? [] : partChanges(await readFileParts(connection), file.parts)
    if (changes.length > 0) await forgetAll(connection, unixNow(clock))
    await writeIndexedConfig(connection, file, (indexed?.sequence ?? 0) + 1)
    return changes
  })
}
