import { Command, Option } from 'commander'
import { type EngineName, readNumber } from '#test/program-options.ts'
import { chanceOf } from '#test/simulation/chance.ts'
import { seedRandom } from '#test/simulation/seeded-random.ts'
import { openStores, type StoreMaker } from '#test/simulation/simulated-store.ts'
import { combinationOf } from './combinations.ts'
import { liveThroughTokens } from './live-through-tokens.ts'
import { type Feature, features, type WorldPlan } from './world-plan.ts'

interface Options {
  readonly seeds: number
  readonly from: number
  readonly seed?: number
  readonly engine?: EngineName
  readonly proofs?: WorldPlan['proofs']
  readonly only?: readonly Feature[]
  readonly all: boolean
}

const values = new Command('node test/hostile-tokens/main.ts')
  .description(
    'Follows chains of tokens that mint and burn at will, and compares the register with a recount of their logs. Ends with 1 when a seed fails.',
  )
  .option('--seeds <count>', 'how many seeds, one after another', readNumber, 100)
  .option('--from <seed>', 'the first of them', readNumber, 1)
  .option('--seed <seed>', 'this one alone', readNumber)
  .addOption(
    new Option('--engine <engine>', 'on this engine; by the seed unless given').choices([
      'sqlite',
      'postgres',
    ]),
  )
  .addOption(
    new Option('--proofs <proofs>', 'with these proofs; by the seed unless given').choices([
      'every',
      'deposits',
    ]),
  )
  .addOption(
    new Option('--only [features...]', 'these features alone; by the seed unless given').choices(
      features,
    ),
  )
  .option('--all', 'go on after a seed that fails', false)
  .parse()
  .opts<Omit<Options, 'only'> & { readonly only?: readonly Feature[] | true }>()

const only = values.only === true ? [] : values.only
const first = values.seed ?? values.from
const count = values.seed === undefined ? values.seeds : 1
const makers = new Map<EngineName, Promise<StoreMaker>>()
const started = performance.now()
try {
  await runAll()
} finally {
  for (const maker of makers.values()) await (await maker).end()
}

async function runAll(): Promise<void> {
  for (let done = 1; done <= count; done += 1) {
    const failure = await runSeed(first + done - 1)
    if (failure !== undefined) {
      process.stdout.write(`${failure}\n`)
      process.exitCode = 1
      if (!values.all) return
    }
    const seconds = ((performance.now() - started) / 1_000 / done).toFixed(2)
    const line = `${done} of ${count} seeds, ${seconds} s each`
    if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
    else if (done % 25 === 0 || done === count) process.stdout.write(`${line}\n`)
  }
}

/** Returns what is wrong; undefined if nothing is. */
async function runSeed(seed: number): Promise<string | undefined> {
  const combination = combinationOf(seed)
  const { engine = combination.engine, proofs = combination.proofs } = values
  const maker = makers.get(engine) ?? openStores(engine)
  makers.set(engine, maker)
  const store = await (await maker).make()
  seedRandom(chanceOf(`random ${seed}`).next)
  try {
    await liveThroughTokens(store.lived, { seed, proofs, ...(only && { only }) })
    return undefined
  } catch (error) {
    const { message, stack, cause } = error instanceof Error ? error : new Error(String(error))
    const text = message.startsWith('seed ') ? message : `seed ${seed}: ${stack}`
    return cause instanceof Error ? `${text}\n  last failure: ${cause.stack}` : text
  } finally {
    seedRandom()
    await store.close()
  }
}
