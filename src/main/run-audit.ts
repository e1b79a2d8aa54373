import { StoreError } from '#store/engine.ts'
import { auditAll } from './audit.ts'
import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'

/** The audit could not run. */
class AuditError extends Error {
  override readonly name = 'AuditError'
}

/** Read-only; 1 when anything differs. */
export async function runAudit(context: RoleContext): Promise<ExitCode> {
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
