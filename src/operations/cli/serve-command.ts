import type { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
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

/** Lazy: help need not load the service. */
const runServe = async (context: RoleContext) =>
  (await import('#main/roles/run-serve.ts')).runServe(context)
