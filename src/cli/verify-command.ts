import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Reads deposits from the register and credits them in the accounts; one works at a time.

Examples:
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton verify
`

/** `sexton verify`: credits prepayments. */
export function verifyCommand(process: NodeJS.Process): Command {
  return new Command('verify')
    .description('credit prepayments and close finished days')
    .addHelpText('after', EXAMPLES)
    .action(() => runRole(process, role))
}

/** Loaded when it is needed: help should not wait for the whole service. */
async function role(context: RoleContext) {
  const { runVerify } = await import('#main/run-verify.ts')
  return runVerify(context)
}
