import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Recomputes the register from the chains and checks every promise of the ledger. It changes nothing,
may run beside the service. Ends with 1 when anything differs, with 2 when it cannot be looked at
(such as the chains of a stopped "sexton start").

Examples:
  sexton audit
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton audit
`

/** `sexton audit`: proves both stores. */
export function auditCommand(process: NodeJS.Process): Command {
  return new Command('audit')
    .description('check every figure against the chains and the ledger')
    .addHelpText('after', EXAMPLES)
    .action(() => runRole(process, role))
}

/** Loaded when it is needed: help should not wait for the whole service. */
async function role(context: RoleContext) {
  const { runAudit } = await import('#main/run-audit.ts')
  return runAudit(context)
}
