import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { ON_CHANGED_FILE } from './on-changed-file.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
One indexer works at a time; a second one waits and takes over when the first is gone.

Examples:
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton index
`

/** `sexton index`: follows the chains into the register. */
export function indexCommand(process: NodeJS.Process): Command {
  return new Command('index')
    .description('follow the chains into the register')
    .option(...ON_CHANGED_FILE)
    .addHelpText('after', EXAMPLES)
    .action((options: { readonly onChangedFile?: string }) =>
      runRole(process, role, { SEXTON_ON_CHANGED_FILE: options.onChangedFile }),
    )
}

/** Loaded when it is needed: help should not wait for the whole service. */
async function role(context: RoleContext) {
  const { runIndex } = await import('#main/run-index.ts')
  return runIndex(context)
}
