import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { RoleContext } from '#main/role-context.ts'
import { ON_CHANGED_FILE, type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly port?: string
  readonly host?: string
  readonly onChangedFile?: string
  readonly settle?: true
}

const EXAMPLES = `
Examples:
  sexton start                          local chains with history, index, API and verifier
  sexton start --port 8080              the same on another port
  sexton start --settle                 the same, and x402 payments are settled
  sexton start --ecosystem my.json      your chains instead of the local ones
`

export function startCommand(process: NodeJS.Process): Command {
  return roleCommand('start')
    .description('run everything in one process; with no ecosystem file, on local chains')
    .option('-p, --port <port>', 'port of the API (PORT, default 4020)')
    .option('--host <address>', 'address to listen on (HOST, default 127.0.0.1)')
    .option(...ON_CHANGED_FILE)
    .option('--settle', "settle x402 payments with the local chains' relayer wallet")
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => {
      const folder = options.data ?? process.env.SEXTON_DATA ?? '.sexton'
      return runRole(process, runStart, options, {
        PORT: options.port,
        HOST: options.host,
        SEXTON_ON_CHANGED_FILE: options.onChangedFile,
        SEXTON_SETTLING_KEY_FILE: options.settle && (await writeRelayerKey(folder)),
      })
    })
}

/** The key is public, and its wallet has ether on the local chains only. */
async function writeRelayerKey(folder: string): Promise<string> {
  const { developmentWallets } = await import('#devnet/wallets.ts')
  const file = join(folder, 'relayer.key')
  await mkdir(folder, { recursive: true })
  await writeFile(file, developmentWallets().relayer.privateKey)
  return file
}

/** Lazy: help need not load the service. */
const runStart = async (context: RoleContext) =>
  (await import('#main/roles/run-start.ts')).runStart(context)
