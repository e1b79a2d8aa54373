import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

const EXAMPLES = `
Recomputes the register from the chains and checks every invariant of the accounts. It changes nothing
and can run while the service does. Exit code: 0 when all agrees, 1 when anything differs, 2 when the
audit could not run (for example because the local chains of "sexton start" are stopped).

Examples:
  sexton audit
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton audit
`

export function auditCommand(process: NodeJS.Process): Command {
  return new Command('audit')
    .description('recompute the register from the chains and check the ledger')
    .addHelpText('after', EXAMPLES)
    .action(() => runRole(process, role))
}

/** Imported on demand, so that help does not load the whole service. */
async function role(context: RoleContext) {
  const { runAudit } = await import('#main/run-audit.ts')
  return runAudit(context)
}
