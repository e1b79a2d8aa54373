import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'
import { openStores, reportMigrations } from './stores.ts'
import { untilStopped } from './until-stopped.ts'
import { runVerifyRole } from './verify-role.ts'

/** The verifier alone, until a signal: credits prepayments that the index has seen. */
export async function runVerify(context: RoleContext): Promise<ExitCode> {
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
