import type { Context } from '#context.ts'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine, Migration } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'

/** A probe asks every second or so, anyone may ask, and each answer costs a commit. */
const REMEMBERED_MS = 3_000

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

/** `ok`, or why calls cannot be counted; a few seconds old at most. */
export function watchAccounts(
  { accounts, clock }: Pick<Context, 'accounts' | 'clock'>,
  migrations: readonly Migration[],
): () => Promise<string> {
  let asked: { readonly atMs: number; readonly state: Promise<string> } | undefined
  const read = async () => {
    const missing = await missingMigration(accounts, migrations)
    if (missing !== undefined) return missing
    return (await canCommit(accounts))
      ? 'ok'
      : 'cannot be written to: full, read-only, or changed by hand'
  }
  return () => {
    const nowMs = clock()
    if (asked === undefined || Math.abs(nowMs - asked.atMs) >= REMEMBERED_MS)
      asked = { atMs: nowMs, state: read().catch(() => UNREACHABLE) }
    return asked.state
  }
}

/** SQLite writes to the disk at the commit, so a row of the meter is inserted, deleted and committed. */
async function canCommit(accounts: Engine): Promise<boolean> {
  try {
    await accounts.write(async (tx) => {
      await tx.run(sql`
        insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
        values (0, 'readyz', 0, 0, 0, 0, 0)`)
      await tx.run(sql`delete from usage_days where day = 0 and bucket = 'readyz'`)
    })
    return true
  } catch {
    return false
  }
}
