import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly port?: string
  readonly host?: string
}

const EXAMPLES = `
Any number can share one PostgreSQL database. SIGTERM finishes requests in flight, then exits.

Examples:
  SEXTON_DATABASE_URL=postgres://... sexton serve --ecosystem my.json --host 0.0.0.0
  SEXTON_TRUSTED_PROXIES=10.0.0.0/8 sexton serve       behind a proxy that sets X-Forwarded-For
`

export function serveCommand(process: NodeJS.Process): Command {
  return roleCommand('serve')
    .description('serve the API only')
    .option('-p, --port <port>', 'port of the API (PORT, default 4020)')
    .option('--host <address>', 'address to listen on (HOST, default 127.0.0.1)')
    .addHelpText('after', EXAMPLES)
    .action((options: Options) =>
      runRole(process, runServe, options, { PORT: options.port, HOST: options.host }),
    )
}

async function runServe(context: RoleContext): Promise<ExitCode> {
  // Lazy: help need not load the service.
  const [
    { compose },
    { chosenEcosystem },
    { serve },
    { untilStopped },
    { openStores, reportMigrations },
    { watchKeys },
  ] = await Promise.all([
    import('#main/compose.ts'),
    import('#main/role-context.ts'),
    import('#main/roles/serve.ts'),
    import('#main/roles/until-stopped.ts'),
    import('#main/stores.ts'),
    import('#main/key-notes.ts'),
  ])
  const { settings, logger, clock } = context
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  try {
    const report = (err: unknown) => logger.error({ err }, 'error in the background')
    const warn = (message: string) => logger.warn(message)
    const onKeyChange = watchKeys({ settings, logger, clock })
    const given = { ecosystem, stores, settings, clock, report, warn, onKeyChange }
    const composed = await compose(given)
    const served = await serve({ settings, logger, clock, randomBytes }, composed)
    logger.info({ url: served.url, metricsPort: served.metricsPort }, 'API listening')
    return await untilStopped(context, served.stop)
  } finally {
    await stores.close()
  }
}
