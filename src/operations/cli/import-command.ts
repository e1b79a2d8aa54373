import type { Command } from 'commander'
import { runImport } from '#operations/backup/import-accounts.ts'
import { runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const IMPORT = `
Copies the accounts of a data folder into the empty PostgreSQL of SEXTON_DATABASE_URL, once. Stop the service
first. It is one transaction, audited before it commits; afterwards accounts.sqlite is renamed, so that nothing
starts on it again. The register is built from the chains.

Examples:
  SEXTON_DATABASE_URL=postgres://sexton:secret@db.example/sexton sexton import --from .sexton
`

export function importCommand(process: NodeJS.Process): Command {
  return upkeepCommand('import')
    .description('copy accounts from SQLite into an empty PostgreSQL')
    .requiredOption('--from <folder>', 'data folder with accounts.sqlite')
    .addHelpText('after', IMPORT)
    .action(({ from, ...options }: UpkeepOptions & { readonly from: string }) =>
      runUpkeep(process, options, (context, report) => runImport(context, report, from)),
    )
}
