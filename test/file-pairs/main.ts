import { Command } from 'commander'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { openStores } from '#test/simulation/simulated-store.ts'
import { liveThroughFiles } from './live-through-files.ts'

interface Options {
  readonly pairs: number
  readonly from: number
  readonly engine: EngineName
}

const values = new Command('node test/file-pairs/main.ts')
  .description(
    'Changes the ecosystem file of a register repeatedly and compares it row by row with one built from the last file alone. Exits with 1 at the first difference.',
  )
  .option('--pairs <count>', 'number of file pairs', readNumber, 300)
  .option('--from <seed>', 'seed of the first pair', readNumber, 1)
  .addOption(engineOption())
  .parse()
  .opts<Options>()

const stores = await openStores(values.engine)
const started = performance.now()
try {
  for (let pair = 1; pair <= values.pairs; pair += 1) {
    const seed = values.from + pair - 1
    const store = await stores.make()
    try {
      await liveThroughFiles(store, seed)
    } catch (error) {
      process.stdout.write(`seed ${seed}: ${error instanceof Error ? error.stack : error}\n`)
      process.exitCode = 1
      break
    } finally {
      await store.close()
    }
    const seconds = (performance.now() - started) / 1_000
    const left = (seconds / pair) * (values.pairs - pair)
    const line = `${pair} of ${values.pairs} pairs, ${(seconds / pair).toFixed(2)} s each, ${left.toFixed(0)} s left`
    if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
    else if (pair % 20 === 0 || pair === values.pairs) process.stdout.write(`${line}\n`)
  }
} finally {
  await stores.end()
}
