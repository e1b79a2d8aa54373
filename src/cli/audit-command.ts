import { Command } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
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
    .action(() => runRole(process, runAudit))
}

/** The audit could not run. */
class AuditError extends Error {
  override readonly name = 'AuditError'
}

/** Checks every promise of both stores once; 1 when any is broken. Changes nothing. */
async function runAudit(context: RoleContext): Promise<ExitCode> {
  // Loaded now, so that help is quick.
  const [{ auditAll }, { StoreError }, { chosenEcosystem }] = await Promise.all([
    import('#audit/audit.ts'),
    import('#store/engine.ts'),
    import('#main/role-context.ts'),
  ])
  const { progress, say } = context
  const differences = await auditAll({
    ...context,
    ecosystem: await chosenEcosystem(context.settings),
    onProgress: ({ task, done, total }) => progress.update(task, done, total),
    note: (line) => say(`ok     ${line}`),
  }).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    throw new AuditError(
      `the audit could not read the database (${error.message}); check SEXTON_DATABASE_URL or SEXTON_DATA`,
      { cause: error },
    )
  })
  progress.finish()
  for (const difference of differences) say(`WRONG  ${difference}`)
  say(differences.length === 0 ? 'Nothing differs.' : `${differences.length} differences.`)
  return differences.length === 0 ? 0 : 1
}
