import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server of a benchmark in a process of its own. */
export interface BenchProcess {
  readonly url: string
  readonly pid: number
  /** `performance.now()` of the moment before it was started. */
  readonly startedMs: number
  /** Asks until the answer is true; throws with the last output if the process ends first or the time is over. */
  until(isDone: () => Promise<boolean>, limits?: Limits): Promise<void>
  /** Asks it to end, and waits. */
  stop(): Promise<void>
  kill(): Promise<void>
}

interface Limits {
  readonly timeoutMs?: number
  readonly pollMs?: number
}

interface Program {
  readonly command: readonly string[]
  readonly port: number
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
  /** Processor core that it may use. */
  readonly core?: number
}

const TIMEOUT_MS = 60_000
const POLL_MS = 20
const STOP_MS = 5_000
const OUTPUT_CHARACTERS_MAX = 4_000
const TICKS_PER_SECOND = 100

export function startProcess({ core, folder, ...program }: Program): BenchProcess {
  const pinned = core === undefined ? [] : ['taskset', '-c', String(core)]
  const [name = '', ...flags] = [...pinned, ...program.command]
  const startedMs = performance.now()
  const { PATH, HOME } = process.env
  const child = spawn(name, flags, {
    env: { PATH, HOME, PORT: String(program.port), ...program.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS_MAX)
    })
  const exited = once(child, 'exit')
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(late)
  }
  return {
    url: `http://127.0.0.1:${program.port}`,
    pid: child.pid ?? 0,
    startedMs,
    async until(isDone, { timeoutMs = TIMEOUT_MS, pollMs = POLL_MS } = {}) {
      const endMs = performance.now() + timeoutMs
      while (!(await isDone())) {
        if (child.exitCode !== null || child.signalCode !== null || performance.now() > endMs)
          throw new Error(`${program.command.join(' ')} is not done:\n${output}`)
        await sleep(pollMs)
      }
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

/** The JSON of a good answer; undefined while nobody listens and for other answers. */
// biome-ignore lint/suspicious/noExplicitAny: figures are read by name and compared.
export async function readJson(url: string): Promise<any> {
  const answer = await fetch(url, { headers: { connection: 'close' } }).catch(() => undefined)
  if (answer?.ok) return answer.json()
  await answer?.body?.cancel()
  return undefined
}

/** The most memory that a process had at once, in megabytes (VmHWM of /proc/<pid>/status). */
export async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** Processor seconds of a process with all its threads so far (proc(5); USER_HZ is 100 everywhere). */
export async function cpuSeconds(pid: number): Promise<number> {
  const [user = Number.NaN, system = Number.NaN] = (await statOf(pid)).slice(11, 13)
  return (user + system) / TICKS_PER_SECOND
}

/** Fields of /proc/<pid>/stat from the third on; the second may hold anything. */
async function statOf(pid: number): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.map(Number)
}
