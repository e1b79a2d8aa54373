import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'
import { openStores, reportMigrations } from './stores.ts'
import { untilStopped } from './until-stopped.ts'
import { runVerifyRole } from './verify-role.ts'

/** The verifier alone, until a signal. */
export async function runVerify(context: RoleContext): Promise<ExitCode> {
  const { settings, logger, clock } = context
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  const ending = new AbortController()
  const verifying = runVerifyRole(
    // Requests that wait are in other processes, which poll for themselves.
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
    logger.info('verifying prepayments')
    return await untilStopped(context, stop, verifying)
  } finally {
    await stores.close()
  }
}
