import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Credits deposits found in the register to the accounts. One verifier runs at a time; others stand by.

Examples:
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton verify
`

export function verifyCommand(process: NodeJS.Process): Command {
  return new Command('verify')
    .description('credit prepayments and close finished days')
    .addHelpText('after', EXAMPLES)
    .action(() => runRole(process, role))
}

async function role(context: RoleContext) {
  const { runVerify } = await import('#main/run-verify.ts')
  return runVerify(context)
}
