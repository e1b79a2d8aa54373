import { type Command, InvalidArgumentError } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { parseNumber, parseUrl, type Reading } from '#main/variable.ts'
import type { Report } from '#upkeep/report.ts'
import { describeFailure } from './describe-failure.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly json?: boolean
}

interface MoveOptions extends Options {
  readonly to: string
  readonly frozenSeconds: number
}

interface CarryOverOptions extends RoleOptions {
  readonly from: string
  readonly fromData: readonly string[]
}

const MOVE = `
Run it while the service runs on the embedded databases. The register is copied first. Then calls get
503 metering_unavailable while the accounts are copied, compared row by row and audited; if anything
fails, the old service goes on. Afterwards the old file refuses to start and says where the accounts are.
Stop the old process, and start the new one with SEXTON_DATABASE_URL and the same SEXTON_DATA.

Exit code: 0 moved, 1 not moved (the reason says what to do), 2 wrong usage or configuration.

Examples:
  sexton move --to postgres://sexton:secret@db.example/sexton
  sexton move --data ./.sexton --to postgres://... --json
`

export function moveCommand(process: NodeJS.Process): Command {
  return upkeepCommand('move')
    .description('move a running installation from the embedded databases to PostgreSQL')
    .requiredOption(
      '--to <url>',
      'postgres:// URL of an empty database',
      parsed(parseUrl('postgres')),
    )
    .option(
      '--frozen-seconds <n>',
      'give up, and let the old service go on, after calls were refused for so long',
      parsed(parseNumber({ minimum: 1, maximum: 3_600 })),
      60,
    )
    .addHelpText('after', MOVE)
    .action((options: MoveOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runMove } = await import('#upkeep/move/run-move.ts')
        return runMove(context, report, options)
      }),
    )
}

const CARRY_OVER = `
Stop every 0.1.0 process first, and keep its folder or database until the new version runs. A running
"start" or "verify" is detected and refused; a running "serve" is not, and its later calls are lost.
Accounts are copied in one transaction and audited before it commits. The register is rebuilt from the
chains at the next start.

Examples:
  sexton carry-over --from ./.sexton --data ./new
  SEXTON_DATABASE_URL=postgres://.../new sexton carry-over --from postgres://.../old --from-data ./.sexton
`

export function carryOverCommand(process: NodeJS.Process): Command {
  return roleCommand('carry-over')
    .description('copy the accounts of Sexton 0.1.0 into a new, empty store')
    .requiredOption('--from <place>', 'data folder or postgres:// URL of the 0.1.0 accounts')
    .option(
      '--from-data <folder...>',
      'data folders (SEXTON_DATA) of the 0.1.0 processes, where refunds may be pending; required with a URL',
      [],
    )
    .addHelpText('after', CARRY_OVER)
    .action(({ from, fromData, ...options }: CarryOverOptions) => {
      const carryOver = async (context: RoleContext) => {
        const { runCarryOver } = await import('#carry-over/run-carry-over.ts')
        return runCarryOver(context, { from, data: fromData })
      }
      return runRole(process, carryOver, options)
    })
}

function upkeepCommand(name: string): Command {
  return roleCommand(name).option('--json', 'print one JSON object on stdout, all else on stderr')
}

function parsed<T>(parse: (text: string) => Reading<T>): (text: string) => T {
  return (text) => {
    const reading = parse(text)
    if (!reading.ok) throw new InvalidArgumentError(reading.reason)
    return reading.value
  }
}

/** A failure is JSON too. */
async function runUpkeep(
  process: NodeJS.Process,
  { json = false, ...options }: Options,
  work: (context: RoleContext, report: Report) => Promise<ExitCode>,
): Promise<void> {
  const done: Report['done'] = (result) => {
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  const say = (text: string) => void process.stderr.write(`${text}\n`)
  try {
    await runRole(
      process,
      (context) => work(context, { say: json ? say : context.say, done }),
      options,
    )
  } catch (error) {
    done({ error: describeFailure(error).text })
    throw error
  }
}
