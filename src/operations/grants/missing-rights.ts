import { dialectOf } from '#store/dialects.ts'
import type { Engine } from '#store/engine.ts'
import { type Role, rightsOf, type StoreName } from './rights.ts'

const SHOWN_MAX = 5

/** Says which rights are missing and what to do; undefined on SQLite. Skips tables not migrated yet. */
export async function missingRights(
  engine: Pick<Engine, 'dialect' | 'read'>,
  store: StoreName,
  role: Role,
): Promise<string | undefined> {
  const wanted = rightsOf(role).filter((each) => each.store === store)
  if (wanted.length === 0) return undefined
  const rights = wanted.flatMap(({ table, rights }) =>
    rights.map((right) => [table, right] as const),
  )
  const missing = await dialectOf(engine).missingRights(engine, { schema: store, rights })
  if (missing.length === 0) return undefined
  const more = missing.length - SHOWN_MAX
  const shown = `${missing.slice(0, SHOWN_MAX).join('; ')}${more > 0 ? `; and ${more} more` : ''}`
  return `lacks rights (${shown}): run "sexton grants --role ${role}", and what it prints as the owner of the tables`
}
