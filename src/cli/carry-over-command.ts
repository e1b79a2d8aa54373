import { Command } from 'commander'
import type { Origin } from '#carry-over/run-carry-over.ts'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Stop every process of 0.1.0 first, and keep its folder or database until the new one runs. A running
"start" or "verify" is noticed and refused; a "serve" alone is not, and its later calls would be lost.
Everything is carried over in one transaction and audited before it is stored; the register is built from
the chains at the next start.

Examples:
  SEXTON_DATA=./new sexton carry-over --from ./.sexton
  SEXTON_DATABASE_URL=postgres://.../new sexton carry-over --from postgres://.../old --data ./.sexton
`

/** `sexton carry-over`: keys, balances and usage of 0.1.0 in a new accounts store. */
export function carryOverCommand(process: NodeJS.Process): Command {
  return new Command('carry-over')
    .description('carry the accounts of Sexton 0.1.0 over into a new, empty store')
    .requiredOption('--from <place>', 'data folder or postgres:// URL of the 0.1.0 accounts')
    .option(
      '--data <folder...>',
      'data folders (SEXTON_DATA) of the 0.1.0 processes, where refunds may wait; needed with a URL',
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
