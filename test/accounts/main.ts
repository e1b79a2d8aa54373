import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { runTruth } from './truth/run-truth.ts'

interface Options {
  readonly calls: number
  readonly engine: EngineName
  readonly replicas: number
  readonly seed: string
}

const values = new Command('node test/accounts/main.ts')
  .description(
    'A hostile mix of callers against real processes, each call and answer recorded by the callers themselves, then compared with usage, headers, ledger and tables. SIGTERM ends the calls and compares. Ends with 1 when anything differs.',
  )
  .option('--calls <count>', 'how many', readNumber, 100_000)
  .addOption(engineOption())
  .option('--replicas <count>', 'processes of the API; more than one need postgres', readNumber, 1)
  .option('--seed <seed>', 'of what the callers do', '1')
  .parse()
  .opts<Options>()

// SIGTERM ends the load, and what was called by then is compared.
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.on('SIGINT', () => process.exit(1))

const { replicas } = values
if (values.engine === 'sqlite' && replicas !== 1)
  throw new Error('replicas need --engine postgres: a SQLite file belongs to one process')
const postgres = values.engine === 'postgres' ? await startPostgres({ durable: true }) : undefined
try {
  const result = await runTruth({
    calls: values.calls,
    replicas,
    databaseUrl: await postgres?.createDatabase(),
    seed: values.seed,
    audit: true,
    stop: stop.signal,
    onProgress: show,
  })
  const { violations, answers, deeds, compared, lost, calls, seconds } = result
  process.stdout.write('\n')
  for (const [what, count] of [...answers].sort()) process.stdout.write(`${count}\t${what}\n`)
  for (const [deed, count] of deeds) process.stdout.write(`${count}\towner's ${deed}\n`)
  process.stdout.write(
    `${lost}\tmetered calls without an answer\n` +
      `compared ${compared.bucketDays} identities and days (${compared.exactBucketDays} without lost calls), ` +
      `${compared.wallets} wallets' money, ${compared.usages} usages; ` +
      `${calls} calls, ${Math.round(calls / seconds)} a second\n`,
  )
  for (const line of violations) process.stdout.write(`WRONG  ${line}\n`)
  process.stdout.write(violations.length === 0 ? 'Nothing differs.\n' : 'It differs.\n')
  process.exitCode = violations.length === 0 ? 0 : 1
} finally {
  await postgres?.stop()
}

function show(calls: number): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${calls} of ${values.calls} calls`)
}
