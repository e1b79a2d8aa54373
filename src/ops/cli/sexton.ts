import process from 'node:process'
import { Command, CommanderError } from 'commander'
import { VERSION } from '#base/package-root.ts'
import { VARIABLES } from '#config.ts'
import { describeFailure } from './describe-failure.ts'

type Make = (from: NodeJS.Process) => Command

const COMMANDS: Readonly<Record<string, () => Promise<Make>>> = {
  init: async () => (await import('./init-command.ts')).initCommand,
  start: async () => (await import('./start-command.ts')).startCommand,
  check: async () => (await import('./check-command.ts')).checkCommand,
  build: async () => (await import('./build-command.ts')).buildCommand,
  audit: async () => (await import('./audit-command.ts')).auditCommand,
  keys: async () => (await import('./keys-command.ts')).keysCommand,
  backup: async () => (await import('./backup-command.ts')).backupCommand,
  import: async () => (await import('./import-command.ts')).importCommand,
}

async function createProgram(from: NodeJS.Process): Promise<Command> {
  const width = Math.max(...Object.keys(VARIABLES).map((name) => name.length))
  const variables = Object.entries(VARIABLES).map(
    ([name, text]) => `  ${name.padEnd(width)}  ${text}`,
  )
  const program = new Command('sexton')
    .description("Public REST API for a token ecosystem's on-chain data")
    .version(VERSION)
    .showHelpAfterError('(sexton --help lists the commands)')
    .addHelpText('after', `\nEnvironment variables:\n${variables.join('\n')}\n`)
  const chosen = COMMANDS[from.argv[2] ?? '']
  const makers = await Promise.all(
    (chosen === undefined ? Object.values(COMMANDS) : [chosen]).map((load) => load()),
  )
  for (const make of makers) program.addCommand(make(from))
  const commands = [program, ...program.commands]
  for (const command of [...commands, ...commands.flatMap(({ commands }) => commands)])
    command.exitOverride().configureOutput({
      writeOut: (text) => from.stdout.write(text),
      writeErr: (text) => from.stderr.write(text),
    })
  return program
}

if (import.meta.main) await main()

export async function main(): Promise<void> {
  await runProgram(process)
  process.exit()
}

/** Sets the exit code of `from`. */
export async function runProgram(from: NodeJS.Process): Promise<void> {
  try {
    await (await createProgram(from)).parseAsync(from.argv)
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the error.
      from.exitCode = error.exitCode === 0 ? 0 : 2
      return
    }
    const { text, exitCode } = describeFailure(error)
    from.stderr.write(`${text.replace(/^/gm, 'sexton: ')}\n`)
    from.exitCode = exitCode
  }
}
