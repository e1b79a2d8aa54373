import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import type { Command } from 'commander'
import { toIso, unixNow } from '#base/time.ts'
import { ConfigError } from '#config.ts'
import type { CommandContext } from '#main/command-context.ts'
import { storeFile } from '#main/registers.ts'
import { type Report, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-on-stores.ts'

const BACKUP = `
Copies embedded accounts, while the service runs, into a new file accounts-<time>.sqlite of the folder. The
register is not part of it: it is built from the chains. For accounts in PostgreSQL it names the pg_dump line.
To restore, stop the service and put the file back as accounts.sqlite of the data folder.

Examples:
  sexton backup /backups
`

export function backupCommand(process: NodeJS.Process): Command {
  return upkeepCommand('backup')
    .description('back up the accounts of an installation on SQLite')
    .argument('<folder>', 'where the backup goes')
    .addHelpText('after', BACKUP)
    .action((folder: string, options: UpkeepOptions) =>
      runUpkeep(process, options, (context, report) => runBackup(context, report, folder)),
    )
}

/** Copies all pages in one step, because SQLite restarts the copy if another process commits between two. */
const ALL_PAGES = 2 ** 31 - 1

/** Copies embedded accounts, as of one moment, into a new file of the folder. */
export async function runBackup(
  { config, clock }: Pick<CommandContext, 'config' | 'clock'>,
  report: Report,
  folder: string,
): Promise<void> {
  const name = `accounts-${toIso(unixNow(clock)).replaceAll(':', '')}`
  const file = join(folder, `${name}.sqlite`)
  if (config.database.kind === 'postgres')
    throw new ConfigError(
      `the accounts are in PostgreSQL; run: pg_dump --schema=accounts --format=custom --file=${join(folder, `${name}.dump`)} "$SEXTON_DATABASE_URL"`,
    )
  // The folder must exist: an unmounted volume must not become a local folder.
  if (!existsSync(folder)) throw new ConfigError(`no such folder: ${folder}; make or mount it`)
  const accounts = storeFile(config.dataFolder, 'accounts')
  if (!existsSync(accounts))
    throw new ConfigError(`no such file: ${accounts}; name the folder with --data`)
  const part = `${file}.part`
  // Private, because it holds secrets of webhooks; `wx` never replaces another backup.
  closeSync(openSync(part, 'wx', 0o600))
  try {
    const source = new DatabaseSync(accounts, { readOnly: true })
    await backup(source, part, { rate: ALL_PAGES }).finally(() => source.close())
    markAsBackup(part)
    sync(part)
    renameSync(part, file)
    sync(folder)
  } finally {
    rmSync(part, { force: true })
  }
  const { size } = statSync(file)
  report.say(`${file}: ${size} bytes`)
  report.done({ file, bytes: size })
}

/** Marks the file, so that its first start records when it was restored. */
function markAsBackup(part: string): void {
  const database = new DatabaseSync(part)
  try {
    database.exec(
      'pragma journal_mode = delete; insert into restores (restored_unix) values (null)',
    )
  } finally {
    database.close()
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
