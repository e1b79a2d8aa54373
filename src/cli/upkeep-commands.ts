import { Command, InvalidArgumentError } from 'commander'
import { type Address, parseAddress } from '#domain/address.ts'
import { parseDecimal } from '#lib/decimal.ts'
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

const BACKUP = `
Copies the accounts as they are at one moment into one new file, while the service runs; the file is the
same for both engines. Refunds that wait in the data folder go with it. The register is not part of it:
it is built from the chains.

Exit code: 0 written, 1 not written, or the accounts fail their audit (which is shown), 2 wrong usage.

Examples:
  sexton backup /backups                    a file of its own name
  SEXTON_DATABASE_URL=postgres://... sexton backup /backups/today.sqlite --json
`

export function backupCommand(process: NodeJS.Process): Command {
  return upkeepCommand('backup')
    .description('copy the accounts into one file')
    .argument('<place>', 'new file, or a folder for it')
    .addHelpText('after', BACKUP)
    .action((place: string, options: Options) =>
      runUpkeep(process, options, async (context, report) => {
        const { runBackup } = await import('#upkeep/backup/run-backup.ts')
        return runBackup(context, report, place)
      }),
    )
}

interface RestoreOptions extends Options {
  readonly old?: string
  readonly log: readonly string[]
  readonly revokeAgain: boolean
  readonly despiteDifferences: boolean
}

const RESTORE = `
Into an empty folder or database, in one transaction that is audited before it commits. Keys that were
revoked since the backup would be valid again: name the old accounts, if they can still be read, and the
JSON logs of all processes since then, and they are listed; --revoke-again revokes them at once.

Exit code: 0 restored, 1 nothing restored (the reason says what to do), 2 wrong usage or configuration.

Examples:
  sexton restore backup.sqlite --data ./new --log old.log --revoke-again
  SEXTON_DATABASE_URL=postgres://... sexton restore backup.sqlite --old ./.sexton --json
`

export function restoreCommand(process: NodeJS.Process): Command {
  return upkeepCommand('restore')
    .description('fill empty accounts from a backup')
    .argument('<file>', 'made by "sexton backup", on either engine')
    .option('--old <place>', 'data folder or postgres:// URL of the old accounts, if readable')
    .option('--log <file...>', 'JSON log files since the backup', [])
    .option('--revoke-again', 'revoke the keys that were revoked since', false)
    .option('--despite-differences', 'restore accounts that fail their audit', false)
    .addHelpText('after', RESTORE)
    .action((file: string, options: RestoreOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runRestore } = await import('#upkeep/restore/run-restore.ts')
        return runRestore(context, report, { ...options, file })
      }),
    )
}

const KEYS = `
Works while the service runs. A revoked key is refused by every replica within a second. A grant is
money of yours on a key: an entry of its own kind in the ledger, never shown as a deposit. The same --id
grants once only, so that a command may be repeated.

Exit code: 0 done, 1 refused (nothing was changed), 2 wrong usage or configuration.

Examples:
  sexton keys list --owner 0x1234...
  sexton keys revoke 0a1b2c3d 4e5f6a7b
  sexton keys grant 0a1b2c3d 5.25 --reason "outage of 3 March" --id ticket-17
`

export function keysCommand(process: NodeJS.Process): Command {
  const keys = new Command('keys')
    .description('list or revoke keys, or grant money to one')
    .addHelpText('afterAll', KEYS)
  for (const make of [listCommand, revokeCommand, grantCommand])
    keys.addCommand(make(process).exitOverride())
  return keys
}

function listCommand(process: NodeJS.Process): Command {
  return upkeepCommand('list')
    .description('all keys with owner, state and balance')
    .option('--owner <address>', 'only keys of this wallet', parsed(parseOwner))
    .action((options: Options & { readonly owner?: Address }) =>
      runUpkeep(process, options, async (context, report) => {
        const { runList } = await import('#upkeep/keys/run-keys.ts')
        return runList(context, report, options)
      }),
    )
}

function revokeCommand(process: NodeJS.Process): Command {
  return upkeepCommand('revoke')
    .description('revoke keys; all, or none if one is unknown')
    .argument('[publicId...]', 'public ids of the keys')
    .option('--from <file>', 'a JSON list of public ids, or the JSON of "sexton restore"')
    .action((publicIds: string[], options: Options & { readonly from?: string }) =>
      runUpkeep(process, options, async (context, report) => {
        const { runRevoke } = await import('#upkeep/keys/run-keys.ts')
        return runRevoke(context, report, { ...options, publicIds })
      }),
    )
}

interface GrantOptions extends Options {
  readonly reason: string
  readonly id?: string
}

function grantCommand(process: NodeJS.Process): Command {
  return upkeepCommand('grant')
    .description('give money to a key')
    .argument('<publicId>', 'public id of the key')
    .argument('<usd>', 'amount with at most 6 decimals', parsed(parseUsd))
    .requiredOption('--reason <text>', 'why; kept with the entry', parsed(parseReason))
    .option('--id <id>', 'grants once only (default: a new one, which is printed)', parsed(parseId))
    .action((publicId: string, microUsd: bigint, options: GrantOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runGrant } = await import('#upkeep/keys/run-keys.ts')
        return runGrant(context, report, { ...options, publicId, microUsd })
      }),
    )
}

function parseOwner(text: string): Reading<Address> {
  const value = parseAddress(text)
  return value === undefined ? { ok: false, reason: 'must be an EVM address' } : { ok: true, value }
}

/** A million dollars at once is a slip of the keyboard. */
const GRANT_MICRO_USD_MAX = 1_000_000_000_000n

function parseUsd(text: string): Reading<bigint> {
  const value = parseDecimal(text, 6) ?? 0n
  return value > 0n && value <= GRANT_MICRO_USD_MAX
    ? { ok: true, value }
    : { ok: false, reason: 'must be from 0.000001 to 1000000 with at most 6 decimals' }
}

function parseReason(text: string): Reading<string> {
  const value = text.trim()
  return value !== '' && value.length <= 500
    ? { ok: true, value }
    : { ok: false, reason: 'must have 1 to 500 characters' }
}

function parseId(text: string): Reading<string> {
  return /^[\w.:-]{1,100}$/.test(text)
    ? { ok: true, value: text }
    : { ok: false, reason: 'must have 1 to 100 letters, digits or ._:-' }
}

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
  work: (context: RoleContext, report: Report) => Promise<void>,
): Promise<void> {
  let exitCode: ExitCode = 0
  const done: Report['done'] = (result, code = 0) => {
    exitCode = code
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  const say = (text: string) => void process.stderr.write(`${text}\n`)
  try {
    const role = async (context: RoleContext) => {
      await work(context, { say: json ? say : context.say, done })
      return exitCode
    }
    await runRole(process, role, options)
  } catch (error) {
    done({ error: describeFailure(error).text })
    throw error
  }
}
