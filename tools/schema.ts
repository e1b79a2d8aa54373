import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { registerMigrations } from '#data/datasets.ts'
import type { Migration } from '#db/engine.ts'
import { accountsMigrations } from '#main/stores.ts'

export const schemaPath = join(import.meta.dirname, '../src/db/schema.sql')

/** Tables, indexes and names of guards of both stores, as SQLite has them. */
export function drawSchema(): string {
  return `-- Written by tools/schema.ts from the tables of each room (*tables.ts); do not edit. PostgreSQL has the same tables.

${drawStore('accounts', accountsMigrations)}

${drawStore('register', registerMigrations)}
`
}

function drawStore(name: string, migrations: readonly Migration[]): string {
  const database = new DatabaseSync(':memory:')
  for (const { sql } of migrations) database.exec(typeof sql === 'string' ? sql : sql.sqlite)
  const made = database.prepare(`
    select type, name, tbl_name as on_table, sql from sqlite_master
    where sql is not null order by rowid`)
  const statements = made
    .all()
    .map(({ type, sql, ...of }) =>
      type === 'trigger'
        ? `-- guard ${of.name} on ${of.on_table}`
        : `${dedented(String(sql)).replace(/^CREATE \w+( INDEX)?/, (words) => words.toLowerCase())};`,
    )
  database.close()
  return [`-- ${name}`, ...statements].join('\n')
}

/** Lines behind the first stand as deep as the place where they are written. */
function dedented(text: string): string {
  const [first = '', ...lines] = text.split('\n')
  const depths = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/))
  const depth = Math.min(...depths)
  return [first, ...lines.map((line) => line.slice(depth))].join('\n')
}

if (import.meta.main) await writeFile(schemaPath, drawSchema())
