import { EventEmitter } from 'node:events'
import { Writable } from 'node:stream'
import { runProgram } from '#ops/cli/sexton.ts'

export interface CommandEnded {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

/** Runs a command of Sexton in this process, which costs a tenth of a process of its own. */
export function runCommand(
  flags: readonly string[],
  environment: Environment = {},
): Promise<CommandEnded> {
  return startCommand(flags, environment).ended
}

/** Starts one that goes on until it is stopped. */
export function startCommand(flags: readonly string[], env: Environment = {}) {
  const texts = { stdout: '', stderr: '' }
  const into = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += chunk
        done()
      },
    })
  const streams = { stdin: {}, stdout: into('stdout'), stderr: into('stderr') }
  const argv = [process.execPath, 'sexton', ...flags]
  const from = Object.assign(new EventEmitter(), { argv, env, exitCode: 0, ...streams })
  const ended = runProgram(from as unknown as NodeJS.Process).then(
    (): CommandEnded => ({ code: from.exitCode, ...texts }),
  )
  return {
    ended,
    words: () => texts.stdout + texts.stderr,
    /** As SIGTERM does. */
    stop(): Promise<CommandEnded> {
      from.emit('SIGTERM', 'SIGTERM')
      return ended
    },
  }
}
