import type { Command } from 'commander'
import { countNoun } from '#base/text.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

const EXAMPLES = `
Recomputes the register from the chains and checks every invariant of the accounts. It changes nothing
and can run while the service does. Exit code: 0 when all agrees, 1 when anything differs, 2 when the
audit could not run (for example because the local chains of "sexton start" are stopped).

Examples:
  sexton audit
  SEXTON_DATABASE_URL=postgres://... sexton audit --ecosystem my.json
`

export function auditCommand(process: NodeJS.Process): Command {
  return storeCommand('audit')
    .description('recompute the register from the chains and check the ledger')
    .addHelpText('after', EXAMPLES)
    .action((options: StoreOptions) => runOnStores(process, runAudit, options))
}

class AuditError extends Error {
  override readonly name = 'AuditError'
}

/** Writes nothing; exits with 1 when anything differs. */
async function runAudit(context: CommandContext): Promise<ExitCode> {
  // Loaded on demand, so that help stays fast.
  const [{ auditAll }, { StoreError }, { chosenEcosystem }] = await Promise.all([
    import('#ops/audit/audit.ts'),
    import('#db/engine.ts'),
    import('#main/command-context.ts'),
  ])
  const { progress, show } = context
  const differences = await auditAll({
    ...context,
    ecosystem: await chosenEcosystem(context.config),
    onProgress: ({ task, done, total }) => progress.update(task, done, total),
    note: (line) => show(`ok     ${line}`),
  }).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    throw new AuditError(
      `the audit could not read the database (${error.message}); check SEXTON_DATABASE_URL or SEXTON_DATA`,
      { cause: error },
    )
  })
  progress.finish()
  for (const difference of differences) show(`WRONG  ${difference}`)
  show(
    differences.length === 0
      ? 'Nothing differs.'
      : `${countNoun(differences.length, 'difference')}.`,
  )
  return differences.length === 0 ? 0 : 1
}
