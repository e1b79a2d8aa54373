import type { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

const EXAMPLES = `
Credits deposits found in the register to the accounts. One verifier runs at a time; others stand by.

Examples:
  SEXTON_DATABASE_URL=postgres://... sexton verify --ecosystem my.json
`

export function verifyCommand(process: NodeJS.Process): Command {
  return roleCommand('verify')
    .description('credit prepayments, send webhooks and close finished days')
    .addHelpText('after', EXAMPLES)
    .action((options: RoleOptions) => runRole(process, runVerify, options))
}

/** Lazy: help need not load the service. */
const runVerify = async (context: RoleContext) =>
  (await import('#main/roles/run-verify.ts')).runVerify(context)
