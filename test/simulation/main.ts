import { parseArgs } from 'node:util'
import { type Outcome, simulate } from './simulate.ts'
import { openStores } from './simulated-store.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    story: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
  },
})

const first = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.seeds) : 1
const stores = await openStores(values.engine === 'postgres' ? 'postgres' : 'sqlite')
try {
  process.exitCode = (await runAll()) ? 0 : 1
} finally {
  await stores.end()
}

/** Runs seed after seed until one fails, or all in spite of failures; false when one did. */
async function runAll(): Promise<boolean> {
  let isGood = true
  const started = performance.now()
  let slowestMs = 0
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = await simulate(stores.make, seed)
    slowestMs = Math.max(slowestMs, outcome.settledMs)
    isGood &&= outcome.failure === undefined
    if (values.all) tellShortly(outcome)
    else if (values.story || !isGood) tellStory(outcome)
    if (!isGood && !values.all) return false
    const done = seed - first + 1
    const seconds = (performance.now() - started) / 1_000
    const line = `${done} of ${count} seeds, ${(seconds / done).toFixed(2)} s each, slowest to settle ${(slowestMs / 1_000).toFixed(1)} s`
    if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
    else if (done % 25 === 0 || done === count) process.stdout.write(`${line}\n`)
  }
  return isGood
}

function tellShortly({ seed, failure }: Outcome): void {
  if (failure !== undefined) process.stdout.write(`seed ${seed}: ${failure.slice(0, 300)}\n`)
}

function tellStory({ seed, story, failure }: Outcome): void {
  process.stdout.write(`\nseed ${seed}\n`)
  for (const line of story) process.stdout.write(`  ${line}\n`)
  process.stdout.write(failure === undefined ? 'all is well\n' : `FAILED: ${failure}\n`)
}
