import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server of the benchmark on a processor core of its own. */
export interface PinnedProcess {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export interface PinnedProgram {
  readonly core: number
  readonly port: number
  /** Program and arguments for `taskset`. */
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly folder?: string
  /** A path that answers 200 once the server is ready; else it is ready once it listens. */
  readonly readyPath?: string
}

const READY_TIMEOUT_MS = 30_000
const POLL_MS = 20
const OUTPUT_CHARACTERS_MAX = 4_000

/** Starts a server and waits until it is ready; the process is the server itself (taskset execs). */
export async function startPinned(program: PinnedProgram): Promise<PinnedProcess> {
  const { core, port, command, environment, folder, readyPath = '/' } = program
  const child = spawn('taskset', ['-c', String(core), ...command], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(port), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
  })
  const output = keepOutput(child)
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const endMs = performance.now() + READY_TIMEOUT_MS
  while (!(await answers(url + readyPath, program.readyPath !== undefined))) {
    if (child.exitCode !== null || performance.now() > endMs) {
      child.kill('SIGKILL')
      throw new Error(`${command.join(' ')} did not become ready:\n${output.text}`)
    }
    await sleep(POLL_MS)
  }
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await exited
      clearTimeout(timer)
    },
  }
}

async function answers(url: string, mustBeGood: boolean): Promise<boolean> {
  try {
    const answer = await fetch(url, { headers: { connection: 'close' } })
    await answer.arrayBuffer()
    return answer.ok || !mustBeGood
  } catch {
    return false
  }
}

function keepOutput(child: ChildProcess): { text: string } {
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text = (output.text + text).slice(-OUTPUT_CHARACTERS_MAX)
    })
  return output
}
