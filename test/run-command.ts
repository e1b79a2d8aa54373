import { Writable } from 'node:stream'
import { runProgram } from '#operations/cli/sexton.ts'

export interface CommandEnded {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of Sexton in this process, which costs a tenth of a process of its own. */
export async function runCommand(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandEnded> {
  const texts = { stdout: '', stderr: '' }
  const into = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += chunk
        done()
      },
    })
  const from = {
    ...{ argv: [process.execPath, 'sexton', ...flags], env: environment, stdin: {} },
    ...{ stdout: into('stdout'), stderr: into('stderr') },
  } as unknown as NodeJS.Process
  return { code: await runProgram(from), ...texts }
}
