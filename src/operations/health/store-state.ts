import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Clock } from '#lib/time.ts'
import { dialectOf } from '#store/dialects.ts'
import type { Engine, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** A probe asks every second or so, and anyone may ask. */
const REMEMBERED_MS = 1_000

const UNREACHABLE = 'cannot be reached'

/** Newer migrations than ours are fine: replicas are replaced one by one. */
async function missingMigration(
  engine: Engine,
  migrations: readonly Migration[],
): Promise<string | undefined> {
  const rows = await engine.read(sql`select id from migrations`)
  const applied = new Set(rows.map((row) => column.integer(row, 'id')))
  const missing = migrations.find(({ id }) => !applied.has(id))
  return missing && `is not migrated: ${missing.id} "${missing.name}" is missing`
}

/** `ok`, or what is wrong. */
export async function stateOfRegister(register: Engine): Promise<string> {
  try {
    return (await missingMigration(register, registerMigrations)) ?? 'ok'
  } catch {
    return UNREACHABLE
  }
}

/** `ok`, or why calls cannot be counted. At most a second old. */
export function watchAccounts({
  engine,
  migrations,
  clock,
}: {
  readonly engine: Engine
  readonly migrations: readonly Migration[]
  readonly clock: Clock
}): () => Promise<string> {
  let asked: { readonly atMs: number; readonly state: Promise<string> } | undefined
  const look = async () => {
    const missing = await missingMigration(engine, migrations)
    if (missing !== undefined) return missing
    if (await dialectOf(engine).isReadOnly(engine)) return 'is read-only'
    return (await canWrite(engine)) ? 'ok' : 'refuses what the meter writes'
  }
  return () => {
    const nowMs = clock()
    if (asked === undefined || Math.abs(nowMs - asked.atMs) >= REMEMBERED_MS)
      asked = { atMs: nowMs, state: look().catch(() => UNREACHABLE) }
    return asked.state
  }
}

class RolledBack extends Error {}

/** Writes a row of the meter, and rolls back. */
async function canWrite(engine: Engine): Promise<boolean> {
  try {
    await engine.write(async (connection) => {
      await connection.run(sql`insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
        values (0, 'readyz', 0, 0, 0, 0, 0)`)
      throw new RolledBack()
    })
  } catch (error) {
    return error instanceof RolledBack
  }
  return false
}
