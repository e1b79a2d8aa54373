import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { readConfig } from '#config.ts'
import { systemClock } from '#lib/time.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import { openLogger } from '#main/logger.ts'
import { createProgress } from './progress.ts'

type Overrides = Readonly<Record<string, string | undefined>>

/** Options of every command. */
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
  const config = readConfig(environment, {
    isTty: stdout.isTTY === true,
    command: process.argv[2],
  })
  const progress = createProgress(stderr, systemClock)
  const logger = openLogger(config.log, stdout)
  try {
    // Stdout holds nothing but logs if they are JSON.
    const show = (line: string) => stdout.write(`${line}\n`)
    const say = (text: string) => {
      if (config.log.format === 'json') stderr.write(`${text}\n`)
      else show(text)
    }
    process.exitCode = await work({
      config,
      logger,
      clock: systemClock,
      process,
      progress,
      show,
      say,
    })
  } finally {
    progress.finish()
  }
}
