import { randomBytes } from 'node:crypto'
import { compose } from './compose.ts'
import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'
import { serve } from './serve.ts'
import { openStores, reportMigrations } from './stores.ts'
import { untilStopped } from './until-stopped.ts'

/** The API role alone, until a signal; any number of replicas. */
export async function runServe(context: RoleContext): Promise<ExitCode> {
  const { settings, logger, clock } = context
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  try {
    const report = (err: unknown) =>
      logger.error({ err }, 'error while processing a payment or refund')
    const warn = (message: string) => logger.warn(message)
    const composed = await compose({ ecosystem, stores, settings, clock, report, warn })
    const served = await serve({ settings, logger, clock, randomBytes }, composed)
    logger.info({ url: served.url, metricsPort: served.metricsPort }, 'API listening')
    return await untilStopped(context, served.stop)
  } finally {
    await stores.close()
  }
}
