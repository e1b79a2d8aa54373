import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { runStorm } from './storm/run-storm.ts'

interface Options {
  readonly minutes: number
  readonly engine: EngineName
}

const values = new Command('node test/accounts/weather-storm.ts')
  .description(
    'Floods of every kind at twice the capacity. Ends with 1 when an honest caller was not served.',
  )
  .option('--minutes <count>', 'how long', readNumber, 1)
  .addOption(engineOption())
  .parse()
  .opts<Options>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

/** Caches fill in the first quarter; past it a service that does not leak grows by less than this. */
const GROWTH_MAX = 1.15

const postgres = values.engine === 'postgres' ? await startPostgres({ durable: true }) : undefined
try {
  const { capacity, honest, floods, megabytes, counted, audit } = await runStorm({
    databaseUrl: await postgres?.createDatabase(),
    seconds: values.minutes * 60,
    onProgress({ seconds, megabytes }) {
      if (Math.round(seconds) % 10 === 0)
        process.stdout.write(`${seconds.toFixed(0)} s, ${megabytes.toFixed(0)} MB\n`)
    },
  })
  const sorted = honest.latenciesMs.toSorted((a, b) => a - b)
  const quantile = (part: number) => sorted[Math.floor(part * (sorted.length - 1))]?.toFixed(0)
  process.stdout.write(
    `capacity ${capacity.toFixed(0)} calls a second; ${floods.sent} requests sent, ${floods.heldBack} held back\n`,
  )
  for (const [what, count] of [...floods.answers].sort())
    process.stdout.write(`${count}\t${what}\n`)
  for (const [status, count] of honest.statuses)
    process.stdout.write(`${count}\thonest ${status}\n`)
  process.stdout.write(
    `honest: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, most ${quantile(1)} ms; usage says ${counted}\n` +
      `memory: ${megabytes.early.toFixed(0)} MB early, ${megabytes.late.toFixed(0)} MB late; audit ${audit.code}\n`,
  )
  const answered = honest.statuses.get(200) ?? 0
  const isServed = honest.statuses.size === 1 && answered === counted
  const isFlat = megabytes.late <= megabytes.early * GROWTH_MAX
  for (const line of floods.unexpected) process.stdout.write(`WRONG  ${line}\n`)
  const isGood = isServed && isFlat && floods.unexpected.length === 0 && audit.code === 0
  process.stdout.write(isGood ? 'The honest caller was served.\n' : 'A promise was broken.\n')
  process.exitCode = isGood ? 0 : 1
} finally {
  await postgres?.stop()
}
