import { Command } from 'commander'
import { type KillOptions, readNumber, withKillOptions } from '#test/program-options.ts'
import { findStrace, type WriteCall, writeCalls } from '#test/strace.ts'
import { countCalls, indexUninterrupted, killAndCompare } from './kills/kill-and-compare.ts'
import { makeKillWorld } from './kills/kill-world.ts'

interface Options extends KillOptions {
  readonly seed: number
}

const values = withKillOptions(
  new Command('node test/simulation/kill-at-every-write.ts').description(
    'Kills an index process with SIGKILL at one write of its register after another, from the first to the last of a small backfill, and compares what a restart makes of each with an uninterrupted run. Ends with 1 when a register differs.',
  ),
)
  .option('--seed <seed>', 'of the chain', readNumber, 1)
  .parse()
  .opts<Options>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

const world = await makeKillWorld(values.seed)
const deps = { strace: await findStrace(), world }
const reference = await indexUninterrupted(deps)
try {
  const totals = await countCalls(deps, writeCalls)
  let isGood = true
  for (const call of writeCalls)
    if (isGood && (values.call === undefined || values.call === call))
      isGood = await killAtEvery(call, totals.get(call) ?? 0)
  process.exitCode = isGood ? 0 : 1
} finally {
  await reference.close()
  await world.stop()
}

/** False when a register differed. */
async function killAtEvery(call: WriteCall, total: number): Promise<boolean> {
  const started = performance.now()
  const step = call === 'pwrite64' ? values.every : 1
  for (let at = values.from, kills = 0; ; at += step, kills += 1) {
    const { killed, difference } = await killAndCompare(deps, { reference, kill: { call, at } })
    const seconds = ((performance.now() - started) / 1_000).toFixed(0)
    if (difference !== undefined) {
      process.stdout.write(`\nFAILED: killed at ${call} ${at}: ${difference}\n`)
      return false
    }
    const line = `${call} ${at} of about ${total}: ${kills + Number(killed)} kills, ${seconds} s`
    if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
    else if (kills % 25 === 0 || !killed) process.stdout.write(`${line}\n`)
    if (!killed) return true
  }
}
