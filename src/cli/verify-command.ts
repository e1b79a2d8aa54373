import { Command } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
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
    .action(() => runRole(process, runVerify))
}

/** The verifier alone, until a signal: credits prepayments that the index has seen. */
async function runVerify(context: RoleContext): Promise<ExitCode> {
  // Loaded now, so that help is quick.
  const [
    { chosenEcosystem },
    { untilStopped },
    { runVerifyRole },
    { openStores, reportMigrations },
  ] = await Promise.all([
    import('#main/role-context.ts'),
    import('#main/roles/until-stopped.ts'),
    import('#main/roles/verify-role.ts'),
    import('#main/stores.ts'),
  ])
  const { settings, logger, clock } = context
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  const ending = new AbortController()
  const verifying = runVerifyRole(
    // Those who wait for a prepayment wait in other processes, which look for themselves.
    {
      ecosystem,
      stores,
      clock,
      logger,
      settles: settings.settling !== undefined,
      onChange: () => undefined,
    },
    ending.signal,
  )
  const stop = async () => {
    ending.abort()
    await verifying
  }
  try {
    logger.info('prepayments are being verified')
    return await untilStopped(context, stop, verifying)
  } finally {
    await stores.close()
  }
}
