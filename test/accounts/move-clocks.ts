import { Command } from 'commander'
import { findFaketime } from '#test/faketime.ts'
import { startPostgres } from '#test/postgres.ts'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { runClocks } from './clocks/run-clocks.ts'

interface Options {
  readonly engine: EngineName
  readonly stay: number
}

const values = new Command('node test/accounts/move-clocks.ts')
  .description(
    'Moves the clocks of running services while callers go on. Ends with 1 when a promise was broken.',
  )
  .addOption(engineOption())
  .option('--stay <seconds>', 'how long callers go on after each move', readNumber, 5)
  .parse()
  .opts<Options>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

const postgres = values.engine === 'postgres' ? await startPostgres({ durable: true }) : undefined
try {
  const { violations, answers, compared, days } = await runClocks({
    libfaketime: await findFaketime(),
    databaseUrl: await postgres?.createDatabase(),
    stayMs: values.stay * 1_000,
    pauseMs: 0,
    onMove: (move) => process.stdout.write(`${move}\n`),
  })
  for (const [what, count] of [...answers].sort()) process.stdout.write(`${count}\t${what}\n`)
  process.stdout.write(`compared ${compared.bucketDays} identities and days, of ${days} days\n`)
  for (const line of violations) process.stdout.write(`WRONG  ${line}\n`)
  process.stdout.write(violations.length === 0 ? 'Nothing differs.\n' : 'It differs.\n')
  process.exitCode = violations.length === 0 ? 0 : 1
} finally {
  await postgres?.stop()
}
