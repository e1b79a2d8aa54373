import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Connection, Engine, Migration } from '#db/engine.ts'
import type { Guard } from '#db/guard.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { plain, sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'

export interface TestServer {
  createDatabase(copiedUrl?: string): Promise<string>
  filledDatabase(key: string, fill: (url: string) => Promise<void>): Promise<string>
  stop(): Promise<void>
}

export interface OpenStore {
  readonly engine: Engine
  /** Its file or URL. */
  readonly at: string
  /** SQLite reuses the engine: two in one process would deadlock. */
  replica(): Engine
}

export type EngineTest = (guarantee: string, work: (store: OpenStore) => Promise<void>) => void

export function eachEngine(
  startServer: () => Promise<TestServer>,
  migrations: readonly Migration[],
  dialects: readonly Engine['dialect'][] = ['sqlite', 'postgres'],
): EngineTest {
  let server: TestServer
  let migratedUrl: string
  before(async () => {
    server = await startServer()
    migratedUrl = await server.filledDatabase(JSON.stringify(migrations), async (url) => {
      const engine = openPostgres({ url, schema: 'accounts' })
      await engine.migrate(migrations)
      await engine.close()
    })
  })
  after(() => server.stop())
  return (guarantee, work) => {
    if (dialects.includes('sqlite')) test(`SQLite: ${guarantee}`, () => onSqlite(migrations, work))
    if (!dialects.includes('postgres')) return
    test(`PostgreSQL: ${guarantee}`, async () => {
      const url = await server.createDatabase(migratedUrl)
      await onStore(url, () => openPostgres({ url, schema: 'accounts' }), work)
    })
  }
}

export async function onSqlite(
  migrations: readonly Migration[],
  work: (store: OpenStore) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const file = join(folder, 'accounts.sqlite')
  try {
    await makeFile(file, migrations)
    await onStore(file, () => openSqlite({ file, durability: 'full' }), work)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Migrating takes longer than most tests, so it happens once for all tests of a process. */
const migratedFiles = new Map<readonly Migration[], Buffer>()

export async function makeFile(file: string, migrations: readonly Migration[]): Promise<void> {
  const migrated = migratedFiles.get(migrations)
  if (migrated !== undefined) return writeFileSync(file, migrated, { mode: 0o600 })
  const engine = openSqlite({ file, durability: 'normal' })
  await engine.migrate(migrations)
  await engine.close()
  migratedFiles.set(migrations, readFileSync(file))
}

async function onStore(
  at: string,
  open: () => Engine,
  work: (store: OpenStore) => Promise<void>,
): Promise<void> {
  const engines: Engine[] = []
  const another = () => {
    const engine = open()
    engines.push(engine)
    return engine
  }
  try {
    const engine = another()
    await work({ engine, at, replica: () => (engine.dialect === 'sqlite' ? engine : another()) })
  } finally {
    for (const engine of engines) await engine.close()
  }
}

export interface Unguarded {
  readonly guards: readonly Pick<Guard, 'table' | 'name'>[]
  readonly tables: readonly string[]
}

export async function unguarded(
  engine: Engine,
  { guards, tables }: Unguarded,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  await engine.write(async (connection) => {
    for (const { table, name } of guards)
      await runText(
        connection,
        engine.dialect === 'sqlite' ? `drop trigger ${name}` : `drop trigger ${name} on ${table}`,
      )
    for (const table of tables)
      if (engine.dialect === 'sqlite') await copyBare(connection, table)
      else await dropConstraints(connection, table)
    await work(connection)
  })
}

async function copyBare(connection: Connection, table: string): Promise<void> {
  await runText(connection, `create table ${table}_bare as select * from ${table}`)
  await runText(connection, `drop table ${table}`)
  await runText(connection, `alter table ${table}_bare rename to ${table}`)
}

async function dropConstraints(connection: Connection, table: string): Promise<void> {
  const found = await connection.run(sql`
    select conname from pg_constraint join pg_class on pg_class.oid = conrelid
    where relname = ${table} and contype <> 'n'
      and pg_class.relnamespace = cast(current_schema() as regnamespace)`)
  for (const { conname } of found)
    await runText(connection, `alter table ${table} drop constraint if exists ${conname} cascade`)
  const indexes = await connection.run(sql`
    select indexname from pg_indexes where tablename = ${table} and schemaname = current_schema()`)
  for (const { indexname } of indexes) await runText(connection, `drop index ${indexname}`)
}

function runText(connection: Connection, text: string): Promise<unknown> {
  return connection.run(plain(text))
}
