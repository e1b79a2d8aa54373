import type { Command } from 'commander'
import { runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const BACKUP = `
Copies the accounts as they are at one moment into one new file, while the service runs; the file is the
same for both engines. The register is not part of it: it is built from the chains.

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
    .action((place: string, options: UpkeepOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runBackup } = await import('#upkeep/backup/run-backup.ts')
        return runBackup(context, report, place)
      }),
    )
}
