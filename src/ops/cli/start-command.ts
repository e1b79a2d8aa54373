import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { ConfigError } from '#config.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import { runApi, runStart } from '#main/start.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

interface Options extends StoreOptions {
  readonly port?: string
  readonly host?: string
  readonly apiOnly?: true
  readonly settle?: true
}

const EXAMPLES = `
Examples:
  sexton start                          local chains with history, index and API
  sexton start --port 8080              the same on another port
  sexton start --settle                 the same, and x402 payments are settled
  sexton start --ecosystem my.json      your chains instead of the local ones

Any number of processes may share one PostgreSQL database; one of them leads, and another takes over when it
ends. SIGTERM finishes requests in flight, then exits.
  SEXTON_DATABASE_URL=postgres://... sexton start --ecosystem my.json --host 0.0.0.0
  SEXTON_DATABASE_URL=postgres://... sexton start --ecosystem my.json --api-only      answers, and never leads
`

export function startCommand(process: NodeJS.Process): Command {
  return storeCommand('start')
    .description('run everything; with no ecosystem file, on local chains')
    .option('-p, --port <port>', 'port of the API (PORT, default 4020)')
    .option('--host <address>', 'address to listen on (HOST, default 127.0.0.1)')
    .option('--api-only', 'answer requests only: never index, verify or settle')
    .option('--settle', "settle x402 payments with the local chains' relayer wallet")
    .addHelpText('after', EXAMPLES)
    .action((options: Options) => {
      const given = { PORT: options.port, HOST: options.host }
      if (options.apiOnly) return runOnStores(process, runApi, options, given)
      if (!options.settle) return runOnStores(process, runStart, options, given)
      if (process.env.SEXTON_SETTLING_KEY_FILE)
        throw new ConfigError(
          '--settle: SEXTON_SETTLING_KEY_FILE names another wallet; keep one of them',
        )
      return runOnStores(process, runSettling, options, {
        ...given,
        SEXTON_SETTLING_KEY_FILE: RELAYER_FILE,
      })
    })
}

/** Name of the file in the data folder. */
const RELAYER_FILE = 'relayer.key'

/** The relayer's key is public, so anyone can send as it; its wallet has ether on the local chains only. */
async function runSettling(context: CommandContext): Promise<ExitCode> {
  const { ecosystemFile, dataFolder, settling } = context.config
  if (ecosystemFile !== undefined)
    throw new ConfigError(
      `--settle: its key is public, so it is for the local chains only; with ${ecosystemFile}, set SEXTON_SETTLING_KEY_FILE`,
    )
  const keyFile = join(dataFolder, RELAYER_FILE)
  await writeRelayerKey(keyFile)
  const config = { ...context.config, settling: settling && { ...settling, keyFile } }
  return runStart({ ...context, config })
}

/** Replaces no other key, because this may be its only copy. */
async function writeRelayerKey(file: string): Promise<void> {
  const { developmentWallets } = await import('#devnet/wallets.ts')
  const { privateKey } = developmentWallets().relayer
  const found = existsSync(file) ? await readFile(file, 'utf8') : privateKey
  if (found !== privateKey)
    throw new ConfigError(`--settle: ${file} holds another key; move it, or name another folder`)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, privateKey, { mode: 0o600 })
}
