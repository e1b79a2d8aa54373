import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isLongVersion } from '#test/long-version.ts'
import { seedRandom } from './seeded-random.ts'
import { simulate } from './simulate.ts'
import { openStores } from './simulated-store.ts'

/** Beside those that failed once; `main.ts --seeds 500` for a long search. */
const SEEDS = 1

const stores = await openStores('sqlite')
after(async () => {
  seedRandom()
  await stores.end()
})

async function passes(seed: number): Promise<void> {
  const { failure, story } = await simulate(stores.make, seed)
  assert.equal(failure, undefined, `seed ${seed}\n${story.join('\n')}`)
}

test('an index that lived through any faults, reorganisations and deaths equals a fresh one', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) await passes(seed)
})

/** Seeds that failed once, by what was wrong. */
const failedOnce: Readonly<Record<string, readonly number[]>> = {
  'a log that no block holds is refused': [13],
  'a node that turns out to be of another chain is not followed': [196],
  'two nodes on different forks never finalize a block of the losing one': [9, 53, 153, 176],
  'an answer from another fork between answers of the chain is found out': [513],
  'a node behind the range that it is asked for is not believed to know no logs': [5004],
}

for (const [guarantee, seeds] of Object.entries(failedOnce))
  test(`${guarantee} (seeds ${seeds.join(', ')})`, async () => {
    for (const seed of isLongVersion ? seeds : seeds.slice(0, 1)) await passes(seed)
  })
