import { Command } from 'commander'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { type Outcome, simulate } from './simulate.ts'
import { openStores } from './simulated-store.ts'

interface Options {
  readonly seeds: number
  readonly from: number
  readonly seed?: number
  readonly story: boolean
  readonly all: boolean
  readonly engine: EngineName
}

const values = new Command('node test/simulation/main.ts')
  .description(
    'Lives through seeds of chains that fork, nodes that lie and processes that die, and compares what the index says with the chain. Ends with 1 when a seed fails.',
  )
  .option('--seeds <count>', 'how many seeds, one after another', readNumber, 100)
  .option('--from <seed>', 'the first of them', readNumber, 1)
  .option('--seed <seed>', 'this one alone', readNumber)
  .option('--story', 'tell what happened in every seed', false)
  .option('--all', 'go on after a seed that fails', false)
  .addOption(engineOption())
  .parse()
  .opts<Options>()

const first = values.seed ?? values.from
const count = values.seed === undefined ? values.seeds : 1
const stores = await openStores(values.engine)
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
