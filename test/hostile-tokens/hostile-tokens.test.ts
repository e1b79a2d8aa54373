import { after, before, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { startPostgres } from '#test/postgres.ts'
import { chanceOf } from '#test/simulation/chance.ts'
import { seedRandom } from '#test/simulation/seeded-random.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { combinationOf } from './combinations.ts'
import { liveThroughTokens } from './live-through-tokens.ts'

/** A few in every run of the tests; `main.ts --seeds 300` searches longer. */
const SEEDS = 20

before(() => seedRandom(chanceOf('hostile tokens').next))
after(() => seedRandom())

const onPostgres = eachEngine(startPostgres, registerMigrations, ['postgres'])

for (let seed = 1; seed <= SEEDS; seed += 1) {
  const { engine, proofs } = combinationOf(seed)
  const guarantee = `the register of tokens that mint and burn at will equals a recount of their logs (seed ${seed}, proofs ${proofs})`
  if (engine === 'postgres')
    onPostgres(guarantee, (store) => liveThroughTokens(store.engine, { seed, proofs }))
  else
    test(`SQLite: ${guarantee}`, () =>
      onSqlite(registerMigrations, (store) => liveThroughTokens(store.engine, { seed, proofs })))
}
