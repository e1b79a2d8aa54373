import type { Engine } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { createHarness } from '#test/callers/callers-harness.ts'
import { startHarness } from '#test/http/api-harness.ts'

export type Moment = 'before the commit' | 'after the commit'

/** A program: prints the URL of a service that kills itself at this moment of its first call. */
async function main(dialect = '', at = '', moment = ''): Promise<void> {
  const engine =
    dialect === 'sqlite'
      ? openSqlite({ file: at, durability: 'full' })
      : openPostgres({ url: at, schema: 'accounts' })
  const { ctx } = createHarness(killedAt(engine, moment)).metering
  const { origin } = await startHarness({ ctx })
  process.stdout.write(origin)
}

function killedAt(engine: Engine, moment: string): Engine {
  const die = () => process.kill(process.pid, 'SIGKILL')
  return {
    ...engine,
    async write(work) {
      const result = await engine.write(async (connection) => {
        const done = await work(connection)
        if (moment === ('before the commit' satisfies Moment)) die()
        return done
      })
      die()
      return result
    },
  }
}

await main(...process.argv.slice(2))
