import { Command, Option } from 'commander'
import { prepareAccountsKills } from './accounts/kills/accounts-kills.ts'
import { readNumber } from './program-options.ts'
import { findStrace, type WriteCall, writeCalls } from './strace.ts'

interface Options {
  readonly every: number
  readonly from: number
  readonly call?: WriteCall
}

const program = new Command('node test/kill-at-every-write.ts')
  .description(
    'Kills a service with SIGKILL at one write of the accounts after another and starts it again, while a key is minted, paid for, used, rotated and revoked. All that it had acknowledged must be there, and the audit is clean. Ends with 1 when a promise was broken.',
  )
  .option('--every <count>', 'kills at every so many writes only', readNumber, 1)
  .option('--from <write>', 'the first of them', readNumber, 1)
  .addOption(new Option('--call <call>', 'writes by this system call only').choices(writeCalls))
  .parse()
const values = program.opts<Options>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

const stage = await prepareAccountsKills(await findStrace())
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
