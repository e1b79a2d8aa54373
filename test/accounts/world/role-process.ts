import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeEnvironment } from '#test/node-environment.ts'
import { BUILT_PROGRAM } from '#tools/build.ts'

/** A role of Sexton as a process of its own. */
export interface RoleProcess {
  readonly url: string
  readonly pid: number
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Resolves when it answers that it is ready; rejects when it ended before. */
  ready(): Promise<void>
  /** What it said, newest last. */
  words(): string
  /** Asks it to end and waits; rejects when it did not end well. */
  stop(): Promise<void>
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>
}

export interface RoleStart {
  readonly role: 'start' | 'audit' | 'keys'
  /** Behind the role. */
  readonly flags?: readonly string[]
  readonly port: number
  readonly environment: Readonly<Record<string, string>>
  /** Program and flags that the process is started by, such as strace; it must become the process. */
  readonly wrapper?: readonly string[]
}

const root = join(import.meta.dirname, '../../..')

/** What is kept of its output, to explain a failure. */
const WORDS_MAX = 20_000

/** A start takes a second or two; a loaded machine and strace get this long. */
const READY_MS = 60_000
const ASK_AGAIN_MS = 25

/** SIGTERM finishes what is in flight; past this it hangs. */
const STOP_MS = 20_000

/** Starts a role; the process ends with this one. */
export function startRole(start: RoleStart): RoleProcess {
  const { role, port, environment, wrapper = [], flags = [] } = start
  // What is built starts in a third of the time.
  const command = [...wrapper, process.execPath, BUILT_PROGRAM, role, ...flags]
  const [program = '', ...words] = command
  const child = spawn(program, words, {
    cwd: root,
    env: {
      ...nodeEnvironment,
      PORT: String(port),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const killAtExit = () => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const exit = once(child, 'exit').then(([code, signal]) => {
    process.off('exit', killAtExit)
    return { code, signal }
  })
  const said = listen(child)
  const url = `http://127.0.0.1:${port}`
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  return {
    url,
    pid: child.pid ?? 0,
    exit,
    words: said,
    ready: () => untilReady(url, { role, isOver, words: said }),
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      const { code, signal } = await exit
      clearTimeout(late)
      if (code !== 0) throw new Error(`sexton ${role} ended with ${code ?? signal}:\n${said()}`)
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

/** Rejects when the role ended before, or takes too long. */
export async function untilReady(
  url: string,
  of: { readonly role: string; isOver(): boolean; words(): string },
): Promise<void> {
  const endMs = performance.now() + READY_MS
  while (!(await isReady(url))) {
    if (of.isOver() || performance.now() > endMs)
      throw new Error(`sexton ${of.role} did not become ready:\n${of.words()}`)
    await sleep(ASK_AGAIN_MS)
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`, { headers: { connection: 'close' } })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}

function listen(child: ChildProcess): () => string {
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-WORDS_MAX)
    })
  return () => words
}
