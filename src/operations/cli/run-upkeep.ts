import { type Command, InvalidArgumentError } from 'commander'
import type { Reading } from '#config.ts'
import type { CommandContext, ExitCode } from '#main/command-context.ts'
import type { Report } from '#operations/upkeep/report.ts'
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
