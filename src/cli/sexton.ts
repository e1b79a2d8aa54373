import process from 'node:process'
import { Command, CommanderError } from 'commander'
import { VARIABLES } from '#main/settings.ts'
import { VERSION } from '#main/version.ts'
import { auditCommand } from './audit-command.ts'
import { describeFailure } from './describe-failure.ts'
import { indexCommand } from './index-command.ts'
import { serveCommand } from './serve-command.ts'
import { startCommand } from './start-command.ts'
import {
  backupCommand,
  carryOverCommand,
  keysCommand,
  moveCommand,
  restoreCommand,
} from './upkeep-commands.ts'
import { verifyCommand } from './verify-command.ts'

export function createProgram(from: NodeJS.Process): Command {
  const width = Math.max(...Object.keys(VARIABLES).map((name) => name.length))
  const variables = Object.entries(VARIABLES).map(
    ([name, text]) => `  ${name.padEnd(width)}  ${text}`,
  )
  const program = new Command('sexton')
    .description("Public REST API for a token ecosystem's on-chain data")
    .version(VERSION)
    .showHelpAfterError('(sexton --help lists the commands)')
    .addHelpText('after', `\nEnvironment variables:\n${variables.join('\n')}\n`)
  const commands = [
    startCommand,
    serveCommand,
    indexCommand,
    verifyCommand,
    auditCommand,
    carryOverCommand,
    keysCommand,
    backupCommand,
    restoreCommand,
    moveCommand,
  ]
  for (const make of commands) program.addCommand(make(from))
  for (const command of [program, ...program.commands]) command.exitOverride()
  return program
}

if (import.meta.main) await main()

export async function main(): Promise<void> {
  try {
    await createProgram(process).parseAsync(process.argv)
  } catch (error) {
    // Commander has already printed.
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2)
    const { text, exitCode } = describeFailure(error)
    process.stderr.write(`${text.replace(/^/gm, 'sexton: ')}\n`)
    process.exit(exitCode)
  }
  process.exit()
}
