import type { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly from: string
  readonly fromData: readonly string[]
}

const CARRY_OVER = `
Stop every 0.1.0 process first, and keep its folder or database until the new version runs. A running
"start" or "verify" is detected and refused; a running "serve" is not, and its later calls are lost.
Accounts are copied in one transaction and audited before it commits. The register is rebuilt from the
chains at the next start.

Examples:
  sexton carry-over --from ./.sexton --data ./new
  SEXTON_DATABASE_URL=postgres://.../new sexton carry-over --from postgres://.../old --from-data ./.sexton
`

export function carryOverCommand(process: NodeJS.Process): Command {
  return roleCommand('carry-over')
    .description('copy the accounts of Sexton 0.1.0 into a new, empty store')
    .requiredOption('--from <place>', 'data folder or postgres:// URL of the 0.1.0 accounts')
    .option(
      '--from-data <folder...>',
      'data folders (SEXTON_DATA) of the 0.1.0 processes, where refunds may be pending; required with a URL',
      [],
    )
    .addHelpText('after', CARRY_OVER)
    .action(({ from, fromData, ...options }: Options) => {
      const carryOver = async (context: RoleContext) => {
        const { runCarryOver } = await import('#carry-over/run-carry-over.ts')
        return runCarryOver(context, { from, data: fromData })
      }
      return runRole(process, carryOver, options)
    })
}
