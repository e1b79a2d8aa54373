import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { findStrace } from '#test/strace.ts'
import {
  breakPostgres,
  breakSqlite,
  type FaultRun,
  postgresFaults,
  sqliteFaults,
} from './faults/fault-places.ts'

interface Options {
  readonly engine: EngineName
  readonly fault?: string
  readonly lasts: number
}

const values = new Command('node test/accounts/break-stores.ts')
  .description(
    'Breaks the disk below the accounts while callers go on. Ends with 1 when a promise was broken.',
  )
  .addOption(engineOption())
  .option(
    '--fault <name>',
    `this one alone: ${[...new Set([...sqliteFaults, ...postgresFaults])].join(', ')}`,
  )
  .option('--lasts <seconds>', 'how long each fault lasts', readNumber, 5)
  .parse()
  .opts<Options>()

process.on('SIGTERM', () => process.exit(1))
process.on('SIGINT', () => process.exit(1))

const strace = await findStrace()
const lastsMs = values.lasts * 1_000
const isWanted = (fault: string) => values.fault === undefined || values.fault === fault
if (values.engine === 'sqlite')
  for (const fault of sqliteFaults.filter(isWanted))
    show(fault, await breakSqlite(strace, { fault, lastsMs, pauseMs: 0 }))
else
  for (const fault of postgresFaults.filter(isWanted)) {
    const postgres = await startPostgres({ durable: true })
    try {
      show(fault, await breakPostgres(strace, { postgres, fault, lastsMs, pauseMs: 0 }))
    } finally {
      await postgres.stop()
    }
  }

function show(fault: string, { violations, answers, recoveredMs, audit }: FaultRun): void {
  process.stdout.write(
    `${fault}: served again after ${recoveredMs.toFixed(0)} ms, audit ${audit.code}\n`,
  )
  for (const [what, count] of [...answers].sort()) process.stdout.write(`  ${count}\t${what}\n`)
  for (const line of violations) process.stdout.write(`  WRONG  ${line}\n`)
  if (audit.code !== 0) process.stdout.write(audit.words)
  if (violations.length > 0 || audit.code !== 0) process.exitCode = 1
}
