import { existsSync } from 'node:fs'
import { Writable } from 'node:stream'
import { Command } from 'commander'
import { systemClock } from '#base/time.ts'
import { type Config, ConfigError, readConfig } from '#config.ts'
import type { Engine } from '#db/engine.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import { openLogger } from '#main/logger.ts'
import { storeFile } from '#main/registers.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { describeFailure } from './describe-failure.ts'
import { createProgress } from './progress.ts'

type Overrides = Readonly<Record<string, string | undefined>>

/** Options that every command takes. */
export interface StoreOptions {
  readonly ecosystem?: string
  readonly data?: string
}

const CONFIG_FILES = ['sexton.config.ts', 'sexton.config.js', 'sexton.config.json']

export function storeCommand(name: string): Command {
  return new Command(name)
    .option('-e, --ecosystem <file>', 'ecosystem file (SEXTON_ECOSYSTEM, or ./sexton.config.ts)')
    .option('-d, --data <folder>', 'folder of the databases (SEXTON_DATA, default .sexton)')
}

export async function runOnStores(
  process: NodeJS.Process,
  work: (context: CommandContext) => Promise<ExitCode>,
  { ecosystem, data }: StoreOptions,
  more: Overrides = {},
): Promise<void> {
  const file = ecosystem ?? process.env.SEXTON_ECOSYSTEM ?? CONFIG_FILES.find(existsSync)
  const overrides = { SEXTON_ECOSYSTEM: file, SEXTON_DATA: data, ...more }
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined)
  const environment = { ...process.env, ...Object.fromEntries(given) }
  const { stdout, stderr } = process
  const terminal = { isTty: stdout.isTTY === true, command: process.argv[2] }
  const config = readConfig(environment, terminal)
  const clock = systemClock
  const isTty = stderr.isTTY === true
  const progress = createProgress({ output: stderr, log: stdout, isTty, clock })
  const output = new Writable({
    write(chunk, _encoding, done) {
      progress.print(String(chunk))
      done()
    },
  })
  const logger = openLogger(config.log, output)
  try {
    // Keeps stdout to JSON lines if logs are JSON.
    const show = (line: string) => progress.print(`${line}\n`)
    const say = (text: string) => {
      if (config.log.format === 'json') stderr.write(`${text}\n`)
      else show(text)
    }
    process.exitCode = await work({ config, logger, clock, process, progress, show, say })
  } finally {
    progress.finish()
  }
}

export interface UpkeepOptions extends StoreOptions {
  readonly json?: boolean
}

export function upkeepCommand(name: string): Command {
  return storeCommand(name).option('--json', 'print one JSON object on stdout, all else on stderr')
}

export async function runUpkeep(
  process: NodeJS.Process,
  { json = false, ...options }: UpkeepOptions,
  work: (context: CommandContext, report: Report) => Promise<void>,
): Promise<void> {
  let exitCode: ExitCode = 0
  const done: Report['done'] = (result, code = 0) => {
    exitCode = code
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  const say = (text: string) => void process.stderr.write(`${text}\n`)
  try {
    const run = async (context: CommandContext) => {
      await work(context, { say: json ? say : context.show, done })
      return exitCode
    }
    await runOnStores(process, run, options)
  } catch (error) {
    done({ error: describeFailure(error).text })
    throw error
  }
}

/** Opens the accounts of an existing installation only, because a mistyped folder must not become a new store. */
export async function onAccounts<T>(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  work: (accounts: Engine) => Promise<T>,
): Promise<T> {
  const file = storeFile(dataFolder, 'accounts')
  if (database.kind === 'sqlite' && !existsSync(file))
    throw new ConfigError(
      `no such file: ${file}; name the folder with --data, or set SEXTON_DATABASE_URL`,
    )
  const accounts = await openStore(dataFolder, 'accounts', database)
  try {
    await migrateStore(accounts, 'accounts')
    return await work(accounts)
  } finally {
    await accounts.close()
  }
}

export interface Report {
  say(text: string): void
  /** Prints one JSON object with `--json`. Call it once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}

/** Nothing was changed; the message says what would be right. */
export class UpkeepError extends Error {
  override readonly name = 'UpkeepError'
}
