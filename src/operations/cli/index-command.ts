import type { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { ON_CHANGED_FILE, type RoleOptions, roleCommand, runRole } from './run-role.ts'

const EXAMPLES = `
One indexer runs at a time; any other stands by and takes over when it stops.

Examples:
  SEXTON_DATABASE_URL=postgres://... sexton index --ecosystem my.json
`

export function indexCommand(process: NodeJS.Process): Command {
  return roleCommand('index')
    .description('index the chains into the register')
    .option(...ON_CHANGED_FILE)
    .addHelpText('after', EXAMPLES)
    .action((options: RoleOptions & { readonly onChangedFile?: string }) =>
      runRole(process, runIndex, options, { SEXTON_ON_CHANGED_FILE: options.onChangedFile }),
    )
}

/** Lazy: help need not load the service. */
const runIndex = async (context: RoleContext) =>
  (await import('#main/roles/run-index.ts')).runIndex(context)
