import { column } from '#db/sql.ts'
import {
  type Channel,
  type Connection,
  type Engine,
  type Migration,
  StoreError,
  type Tables,
} from './engine.ts'
import { sql } from './sql.ts'

/** The first migration of a store. */
export function firstSchema(store: string, tables: readonly Tables[]): readonly Migration[] {
  const join = (dialect: 'sqlite' | 'postgres') =>
    tables.map((each) => (typeof each === 'string' ? each : each[dialect])).join(';\n')
  return [
    {
      id: 1,
      name: `first schema of the ${store}`,
      sql: { sqlite: join('sqlite'), postgres: join('postgres') },
    },
  ]
}

/** Refuses a database with migrations that this version does not know. */
export async function appliedIds(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<Set<number>> {
  const applied = await connection.run(sql`select id, name from migrations order by id`)
  const known = new Map(migrations.map((migration) => [migration.id, migration.name]))
  for (const row of applied) {
    const id = column.integer(row, 'id')
    if (known.get(id) !== column.text(row, 'name'))
      throw new StoreError(
        `this database has migration ${id} "${row.name}", which this version does not know: start a version that does, or remove it if it is a register, which is read again`,
      )
  }
  return new Set(applied.map((row) => column.integer(row, 'id')))
}

/** Call it within a transaction; `execute` accepts several statements. */
export async function applyMissing(
  connection: Connection,
  execute: (text: string) => Promise<unknown>,
  {
    dialect,
    migrations,
  }: { readonly dialect: Engine['dialect']; readonly migrations: readonly Migration[] },
): Promise<void> {
  const applied = await appliedIds(connection, migrations)
  for (const migration of migrations.filter(({ id }) => !applied.has(id))) {
    await execute(listStatements(migration, dialect))
    await connection.run(
      sql`insert into migrations (id, name) values (${migration.id}, ${migration.name})`,
    )
  }
}

/** On SQLite, stores the table as one tree instead of two; for tables with few columns besides the key. PostgreSQL ignores the comment. */
export const CLUSTERED = '/* clustered by its key */'

function listStatements(migration: Migration, dialect: 'sqlite' | 'postgres'): string {
  const text = typeof migration.sql === 'string' ? migration.sql : migration.sql[dialect]
  return dialect === 'sqlite' ? text.replaceAll(CLUSTERED, 'without rowid') : text
}

/** Makes a trigger that notifies on PostgreSQL. `payload` is an expression on `new`, such as a column. */
export function notificationTrigger(input: {
  readonly channel: Channel
  readonly after: string
  readonly each: 'row' | 'statement'
  readonly payload: string
}): Tables {
  const { channel, after, each, payload } = input
  return {
    sqlite: '',
    postgres: `
      create or replace function ${channel}_changed() returns trigger language plpgsql as $$
        begin
          perform pg_notify('${channel}', ${payload});
          return null;
        end $$;
      create trigger ${channel} after ${after}
        for each ${each} execute function ${channel}_changed()`,
  }
}
