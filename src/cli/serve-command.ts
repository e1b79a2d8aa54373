import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { runRole } from './run-role.ts'

interface Options {
  readonly port?: string
  readonly host?: string
}

const EXAMPLES = `
Any number can share one PostgreSQL database. SIGTERM finishes requests in flight, then exits.

Examples:
  SEXTON_ECOSYSTEM=my.json SEXTON_DATABASE_URL=postgres://... sexton serve --host 0.0.0.0
  SEXTON_TRUSTED_PROXIES=10.0.0.0/8 sexton serve       behind a proxy that sets X-Forwarded-For
`

export function serveCommand(process: NodeJS.Process): Command {
  return new Command('serve')
    .description('serve the API only')
    .option('-p, --port <port>', 'port of the API (PORT, default 4020)')
    .option('--host <address>', 'address to listen on (HOST, default 127.0.0.1)')
    .addHelpText('after', EXAMPLES)
    .action((options: Options) =>
      runRole(process, role, { PORT: options.port, HOST: options.host }),
    )
}

async function role(context: RoleContext) {
  const { runServe } = await import('#main/run-serve.ts')
  return runServe(context)
}
