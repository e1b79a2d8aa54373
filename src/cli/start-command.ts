import { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { ON_CHANGED_FILE } from './on-changed-file.ts'
import { runRole } from './run-role.ts'

interface Options {
  readonly port?: string
  readonly host?: string
  readonly data?: string
  readonly ecosystem?: string
  readonly onChangedFile?: string
}

const EXAMPLES = `
Examples:
  sexton start                          local chains with history, index, API and verifier
  sexton start --port 8080              the same on another port
  sexton start --ecosystem my.json      your chains instead of the local ones
`

export function startCommand(process: NodeJS.Process): Command {
  return new Command('start')
    .description('run everything in one process; with no ecosystem file, on local chains')
    .option('-p, --port <port>', 'port of the API (PORT, default 4020)')
    .option('--host <address>', 'address to listen on (HOST, default 127.0.0.1)')
    .option('-d, --data <folder>', 'folder of the databases (SEXTON_DATA, default .sexton)')
    .option('-e, --ecosystem <file>', 'ecosystem file (SEXTON_ECOSYSTEM)')
    .option(...ON_CHANGED_FILE)
    .addHelpText('after', EXAMPLES)
    .action((options: Options) =>
      runRole(process, role, {
        PORT: options.port,
        HOST: options.host,
        SEXTON_DATA: options.data,
        SEXTON_ECOSYSTEM: options.ecosystem,
        SEXTON_ON_CHANGED_FILE: options.onChangedFile,
      }),
    )
}

async function role(context: RoleContext) {
  const { runStart } = await import('#main/run-start.ts')
  return runStart(context)
}
