import type { Command } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

const MIGRATE = `
Every command migrates at its start, if its database role owns the tables. Where processes run as roles
that own nothing (sexton grants), run this as the owner before them. It may be repeated.

Examples:
  SEXTON_DATABASE_URL=postgres://owner:secret@db.example/sexton sexton migrate
`

export function migrateCommand(process: NodeJS.Process): Command {
  return roleCommand('migrate')
    .description('create or update the tables of both stores, and end')
    .addHelpText('after', MIGRATE)
    .action((options: RoleOptions) => runRole(process, runMigrate, options))
}

async function runMigrate({ settings, logger, say }: RoleContext): Promise<ExitCode> {
  const { openStores, reportMigrations } = await import('#main/stores.ts')
  const stores = await openStores(settings, reportMigrations(logger))
  await stores.close()
  say('The tables of both stores are up to date.')
  return 0
}
