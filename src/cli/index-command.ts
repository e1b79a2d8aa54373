import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { ON_CHANGED_FILE } from './on-changed-file.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
One indexer runs at a time; any other stands by and takes over when it stops.

Examples:
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton index
`

export function indexCommand(process: NodeJS.Process): Command {
  return new Command('index')
    .description('index the chains into the register')
    .option(...ON_CHANGED_FILE)
    .addHelpText('after', EXAMPLES)
    .action((options: { readonly onChangedFile?: string }) =>
      runRole(process, role, { SEXTON_ON_CHANGED_FILE: options.onChangedFile }),
    )
}

async function role(context: RoleContext) {
  const { runIndex } = await import('#main/run-index.ts')
  return runIndex(context)
}
