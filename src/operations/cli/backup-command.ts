import type { Command } from 'commander'
import { runBackup } from '#operations/backup/back-up.ts'
import { runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

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
