import type { Command } from 'commander'
import { countOf } from '#lib/count-of.ts'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly statement?: string
  readonly jwks?: string
}

const EXAMPLES = `
Recomputes the register from the chains and checks every invariant of the accounts. It changes nothing
and can run while the service does. Exit code: 0 when all agrees, 1 when anything differs, 2 when the
audit could not run (for example because the local chains of "sexton start" are stopped).

With --statement it checks one statement of charges (the JSON answer or its JWS) instead: signature and
arithmetic, and where the data folder or SEXTON_DATABASE_URL has accounts, that ledger and chain agree.

Examples:
  sexton audit
  SEXTON_DATABASE_URL=postgres://... sexton audit --ecosystem my.json
  sexton audit --statement november.json --jwks https://data.example/.well-known/jwks.json
`

export function auditCommand(process: NodeJS.Process): Command {
  return roleCommand('audit')
    .description('recompute the register from the chains and check the ledger')
    .addHelpText('after', EXAMPLES)
    .option('--statement <file>', 'check this statement of charges instead')
    .option('--jwks <url or file>', 'its key set (default: the keys of SEXTON_SIGNING_KEYS)')
    .action(({ statement: file, jwks, ...options }: Options) => {
      const run = file === undefined ? runAudit : statementAudit(file, jwks)
      return runRole(process, run, options)
    })
}

class AuditError extends Error {
  override readonly name = 'AuditError'
}

/** Writes nothing; exits with 1 when anything differs. */
async function runAudit(context: RoleContext): Promise<ExitCode> {
  // Lazy: help need not load the service.
  const [{ auditAll }, { StoreError }, { chosenEcosystem }] = await Promise.all([
    import('#operations/audit/audit.ts'),
    import('#store/engine.ts'),
    import('#main/role-context.ts'),
  ])
  const { progress, show } = context
  const differences = await auditAll({
    ...context,
    ecosystem: await chosenEcosystem(context.settings),
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
  return conclude(context, differences)
}

function conclude({ show }: RoleContext, differences: readonly string[]): ExitCode {
  for (const difference of differences) show(`WRONG  ${difference}`)
  show(
    differences.length === 0 ? 'Nothing differs.' : `${countOf(differences.length, 'difference')}.`,
  )
  return differences.length === 0 ? 0 : 1
}

function statementAudit(file: string, jwks: string | undefined) {
  return async (context: RoleContext): Promise<ExitCode> => {
    const [{ readFile }, { auditStatement }, { chosenEcosystem }] = await Promise.all([
      import('node:fs/promises'),
      import('#operations/audit/statement/audit-statement.ts'),
      import('#main/role-context.ts'),
    ])
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new AuditError(`--statement: ${file} cannot be read`, { cause })
    })
    const { settings, show } = context
    const deps = {
      ...context,
      ecosystem: () => chosenEcosystem(settings),
      note: (line: string) => show(`ok     ${line}`),
    }
    return conclude(
      context,
      await auditStatement(deps, { text, jwks: await keySet(context, jwks) }),
    )
  }
}

const KEY_SET_TIMEOUT_MS = 10_000

/** Never the set that the statement itself names: a forger would name his own. */
async function keySet({ settings }: RoleContext, named: string | undefined): Promise<unknown> {
  if (named === undefined) {
    if (settings.signingKeys === undefined)
      throw new AuditError('name the key set with --jwks <url or file>, or set SEXTON_SIGNING_KEYS')
    const { openSigningKeys } = await import('#main/open-signing-keys.ts')
    return (await openSigningKeys(settings.signingKeys)).jwks
  }
  try {
    if (!/^https?:/.test(named))
      return JSON.parse(await (await import('node:fs/promises')).readFile(named, 'utf8'))
    const answer = await fetch(named, { signal: AbortSignal.timeout(KEY_SET_TIMEOUT_MS) })
    return await answer.json()
  } catch (cause) {
    throw new AuditError(`--jwks: ${named} cannot be read as a key set`, { cause })
  }
}
