import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { startPostgres } from '#test/postgres.ts'

/** The register that lives through a simulation, and the one that is made anew at its end. */
export interface SimulatedStore {
  readonly lived: Engine
  readonly fresh: Engine
  close(): Promise<void>
}

/** Where simulations get their stores from. */
export interface StoreMaker {
  make(): Promise<SimulatedStore>
  end(): Promise<void>
}

/** Opens stores on one of the engines; what is made anew is on SQLite always. */
export async function openStores(dialect: Engine['dialect']): Promise<StoreMaker> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-simulation-'))
  const empty = join(folder, 'empty.sqlite')
  const first = openSqlite({ file: empty, durability: 'normal' })
  await first.migrate(registerMigrations)
  await first.close()
  const server = dialect === 'postgres' ? await startPostgres() : undefined
  let count = 0
  const copy = () => {
    count += 1
    const file = join(folder, `register-${count}.sqlite`)
    copyFileSync(empty, file)
    return { engine: openSqlite({ file, durability: 'normal' }), file }
  }
  return {
    async make() {
      const fresh = copy()
      const lived = server === undefined ? copy() : undefined
      const engine = lived?.engine ?? openPostgres(await database(server))
      if (lived === undefined) await engine.migrate(registerMigrations)
      return {
        lived: engine,
        fresh: fresh.engine,
        async close() {
          await fresh.engine.close()
          await engine.close()
          for (const file of [fresh.file, lived?.file])
            if (file !== undefined)
              for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
        },
      }
    },
    async end() {
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function database(server: Awaited<ReturnType<typeof startPostgres>> | undefined) {
  if (server === undefined) throw new Error('there is no PostgreSQL server')
  return { url: await server.createDatabase(), schema: 'register' as const }
}
