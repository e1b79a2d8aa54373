import { registerMigrations } from '#chains/datasets/datasets.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { liveThroughFiles } from './live-through-files.ts'

/** A few pairs per test run; `main.ts --pairs 300` searches longer. */
const SEEDS = [1, 2]

const onEach = eachEngine(startPostgres, registerMigrations)

for (const seed of SEEDS)
  onEach(`a register whose file changed equals a fresh one (seed ${seed})`, ({ engine: lived }) =>
    onSqlite(registerMigrations, ({ engine: fresh }) =>
      liveThroughFiles({ lived, fresh, close: async () => undefined }, seed),
    ),
  )
