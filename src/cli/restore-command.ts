import type { Command } from 'commander'
import { runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

interface Options extends UpkeepOptions {
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
    .action((file: string, options: Options) =>
      runUpkeep(process, options, async (context, report) => {
        const { runRestore } = await import('#upkeep/restore/run-restore.ts')
        return runRestore(context, report, { ...options, file })
      }),
    )
}
