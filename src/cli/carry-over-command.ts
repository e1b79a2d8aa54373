import { Command } from 'commander'
import type { Origin } from '#carry-over/run-carry-over.ts'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Stop every 0.1.0 process first, and keep its folder or database until the new version runs. A running
"start" or "verify" is detected and refused; a running "serve" is not, and its later calls are lost.
Accounts are copied in one transaction and audited before it commits. The register is rebuilt from the
chains at the next start.

Examples:
  SEXTON_DATA=./new sexton carry-over --from ./.sexton
  SEXTON_DATABASE_URL=postgres://.../new sexton carry-over --from postgres://.../old --data ./.sexton
`

export function carryOverCommand(process: NodeJS.Process): Command {
  return new Command('carry-over')
    .description('copy the accounts of Sexton 0.1.0 into a new, empty store')
    .requiredOption('--from <place>', 'data folder or postgres:// URL of the 0.1.0 accounts')
    .option(
      '--data <folder...>',
      'data folders (SEXTON_DATA) of the 0.1.0 processes, where refunds may be pending; required with a URL',
      [],
    )
    .addHelpText('after', EXAMPLES)
    .action((origin: Origin) =>
      runRole(process, async (context: RoleContext) => {
        const { runCarryOver } = await import('#carry-over/run-carry-over.ts')
        return runCarryOver(context, origin)
      }),
    )
}
