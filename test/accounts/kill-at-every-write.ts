import { Command } from 'commander'
import { type KillOptions, withKillOptions } from '#test/program-options.ts'
import { findStrace, type WriteCall, writeCalls } from '#test/strace.ts'
import { prepareKillStage } from './kills/kill-stage.ts'

const values = withKillOptions(
  new Command('node test/accounts/kill-at-every-write.ts').description(
    'Kills a service with SIGKILL at one write of its accounts after another, while a key is minted, paid for, used, rotated and revoked; starts it again, looks for all that it had acknowledged, and audits it. Ends with 1 when a promise was broken.',
  ),
)
  .parse()
  .opts<KillOptions>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

const stage = await prepareKillStage(await findStrace())
try {
  const totals = await stage.count(writeCalls)
  let isGood = true
  for (const call of writeCalls)
    if (isGood && (values.call === undefined || values.call === call))
      isGood = await killAtEvery(call, totals.get(call) ?? 0)
  process.exitCode = isGood ? 0 : 1
} finally {
  await stage.stop()
}

/** False when a promise was broken. */
async function killAtEvery(call: WriteCall, total: number): Promise<boolean> {
  const started = performance.now()
  const step = call === 'pwrite64' ? values.every : 1
  const inSteps = new Map<string, number>()
  let kills = 0
  for (let at = values.from; ; at += step) {
    const outcome = await stage.kill(call, at)
    if (outcome.broken.length > 0) {
      process.stdout.write(`\nFAILED: killed at ${call} ${at}: ${outcome.broken.join('\n')}\n`)
      return false
    }
    kills += Number(outcome.killed)
    const where = outcome.step ?? 'between'
    if (outcome.killed) inSteps.set(where, (inSteps.get(where) ?? 0) + 1)
    const seconds = ((performance.now() - started) / 1_000).toFixed(0)
    process.stdout.write(
      `${call} ${at} of about ${total}: ${where}; ${kills} kills, ${seconds} s\n`,
    )
    if (!outcome.killed) break
  }
  for (const [where, count] of inSteps) process.stdout.write(`${count}\t${call} in ${where}\n`)
  return true
}
