import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Connection, Engine, Migration } from '#store/engine.ts'
import type { Guard } from '#store/guard.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'

/** A PostgreSQL server that lives as long as the tests of a file. */
export interface TestServer {
  createDatabase(): Promise<string>
  stop(): Promise<void>
}

/** A migrated, empty accounts store. */
export interface OpenStore {
  readonly engine: Engine
  /**
   * A second engine on the same store, as another replica of the server has. The embedded engine
   * has one server only (a second one in this very process would wait for a lock that only it can
   * release), so there it is the same engine.
   */
  replica(): Engine
}

export type EngineTest = (guarantee: string, work: (store: OpenStore) => Promise<void>) => void

/** Tests of this file run on both engines, each in a store of its own. */
export function eachEngine(
  startServer: () => Promise<TestServer>,
  migrations: readonly Migration[],
): EngineTest {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server.stop())
  return (guarantee, work) => {
    test(`SQLite: ${guarantee}`, () => onSqlite(migrations, work))
    test(`PostgreSQL: ${guarantee}`, async () => {
      const url = await server.createDatabase()
      await onStore(() => openPostgres({ url, schema: 'accounts' }), migrations, work)
    })
  }
}

/** Runs the work on a fresh SQLite store. */
export async function onSqlite(
  migrations: readonly Migration[],
  work: (store: OpenStore) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const file = join(folder, 'accounts.sqlite')
  try {
    await onStore(() => openSqlite({ file, durability: 'full' }), migrations, work)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function onStore(
  open: () => Engine,
  migrations: readonly Migration[],
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
    await engine.migrate(migrations)
    await work({ engine, replica: () => (engine.dialect === 'sqlite' ? engine : another()) })
  } finally {
    for (const engine of engines) await engine.close()
  }
}

/** Takes guards down, as a mistaken hand in the database would. */
export async function dropGuards(
  connection: Connection,
  dialect: Engine['dialect'],
  guards: readonly Pick<Guard, 'table' | 'name'>[],
): Promise<void> {
  for (const { table, name } of guards) {
    const text = dialect === 'sqlite' ? `drop trigger ${name}` : `drop trigger ${name} on ${table}`
    await connection.run({ kind: 'sql', parts: [text], values: [] })
  }
}
