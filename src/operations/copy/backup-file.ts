import { DatabaseSync } from 'node:sqlite'
import { compileLazily } from '#lib/compile-lazily.ts'
import { Type } from '#lib/type.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import type { Connection } from '#store/engine.ts'
import { CLOSED_ID, closeStore } from '#store/migrate.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { TableDigests } from './copy-tables.ts'

export interface Manifest {
  readonly format: 1
  readonly id: string
  readonly version: string
  readonly createdMs: number
  readonly tables: TableDigests
}

const schema = compileLazily(
  Type.Object({
    format: Type.Literal(1),
    id: Type.String(),
    version: Type.String(),
    createdMs: Type.Integer(),
    tables: Type.Record(
      Type.String(),
      Type.Object({ rows: Type.Integer(), sha256: Type.String() }),
    ),
  }),
)

/** A start would know nothing of what happened to keys since. */
const IS_BACKUP = 'a backup; fill an empty store with "sexton copy --from" it'

/** Closes the file: only a restore may fill a store from it. */
export async function writeManifest(tx: Connection, manifest: Manifest): Promise<void> {
  await tx.run(sql`create table backup_manifest (manifest text not null)`)
  const text = JSON.stringify({ ...manifest, tables: Object.fromEntries(manifest.tables) })
  await tx.run(sql`insert into backup_manifest (manifest) values (${text})`)
  await closeStore(tx, IS_BACKUP)
}

export interface BackupFacts {
  readonly manifest: Manifest
  readonly migrations: ReadonlySet<number>
}

/** Throws UpkeepError for any other file. */
export function readFacts(file: string): BackupFacts {
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const rows = (text: string) => database.prepare(text).all()
      const [found] = rows('select manifest from backup_manifest')
      const ids = rows(`select id from migrations where id <> ${CLOSED_ID}`)
      return {
        manifest: parseManifest(found === undefined ? '' : column.text(found, 'manifest')),
        migrations: new Set(ids.map((row) => column.integer(row, 'id'))),
      }
    } finally {
      database.close()
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new UpkeepError(`${file} is not a backup made by "sexton copy" (${reason})`, { cause })
  }
}

function parseManifest(text: string): Manifest {
  const value: unknown = JSON.parse(text)
  if (!schema().Check(value)) throw new TypeError('its manifest cannot be read')
  return { ...value, tables: new Map(Object.entries(value.tables)) }
}
