import { after, before, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { chanceOf } from '#test/chance.ts'
import { isLongVersion } from '#test/long-version.ts'
import { startPostgres } from '#test/postgres.ts'
import { seedRandom } from '#test/seeded-random.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { liveThroughTokens } from './live-through-tokens.ts'

const SEEDS = isLongVersion ? 300 : 12

before(() => seedRandom(chanceOf('hostile tokens').next))
after(() => seedRandom())

const onPostgres = eachEngine(startPostgres, registerMigrations, ['postgres'])

for (let seed = 1; seed <= SEEDS; seed += 1) {
  const proofs = seed % 4 < 2 ? 'every' : 'deposits'
  const guarantee = `the register of tokens that mint and burn at will equals a recount of their logs, whatever nodes did meanwhile (seed ${seed}, proofs ${proofs})`
  if (seed % 2 === 0)
    onPostgres(guarantee, (store) => liveThroughTokens(store.engine, { seed, proofs }))
  else
    test(`SQLite: ${guarantee}`, () =>
      onSqlite(registerMigrations, (store) => liveThroughTokens(store.engine, { seed, proofs })))
}
