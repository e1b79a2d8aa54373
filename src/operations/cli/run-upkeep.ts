import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { type Config, ConfigError, type Reading } from '#config.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import { storeFile } from '#main/store-file.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { describeFailure } from './describe-failure.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

export interface UpkeepOptions extends StoreOptions {
  readonly json?: boolean
}

export function upkeepCommand(name: string): Command {
  return storeCommand(name).option('--json', 'print one JSON object on stdout, all else on stderr')
}

export function parsed<T>(parse: (text: string) => Reading<T>): (text: string) => T {
  return (text) => {
    const reading = parse(text)
    if (!reading.ok) throw new InvalidArgumentError(reading.reason)
    return reading.value
  }
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

/** Opens the accounts of an existing installation only: a mistyped folder must not become a new store. */
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
  /** Prints one JSON object for programs, with `--json`. Call it once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}

/** Nothing was changed; says what would be right. */
export class UpkeepError extends Error {
  override readonly name = 'UpkeepError'
}
