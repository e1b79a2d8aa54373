import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '#lib/free-port.ts'
import { BUILT_PROGRAM, buildService } from '../../build.ts'

/** A real `sexton start`. */
export interface SextonProcess {
  readonly url: string
  readonly pid: number
  /** `performance.now()` of the moment before it was started. */
  readonly startedMs: number
  /** An answer of its API; undefined while nobody listens. */
  get(path: string): Promise<SextonAnswer | undefined>
  /** Asks it to end and waits; rejects when it ended by itself before. */
  stop(): Promise<void>
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>
}

export interface SextonAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the figures are read by name and compared.
  readonly body: any
}

export interface SextonSettings {
  readonly dataFolder: string
  readonly ecosystemFile: string
  /** PostgreSQL for both stores; SQLite without it. */
  readonly databaseUrl?: string
}

/** The reader of the benchmark must not be turned away. */
const GUARD = { SEXTON_GUARD_BURST: '10000000', SEXTON_GUARD_PER_MINUTE: '10000000' }

/** What is kept of its output, to explain a failure. */
const OUTPUT_CHARACTERS_MAX = 4_000

/** Starts Sexton with every role in one process and gives it back before it is ready. */
export async function startSexton(settings: SextonSettings): Promise<SextonProcess> {
  await buildService()
  const port = await freePort()
  const environment = {
    PATH: process.env.PATH,
    // As `npm start` sets it.
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '262144',
    ...GUARD,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    SEXTON_DATA: settings.dataFolder,
    SEXTON_ECOSYSTEM: settings.ecosystemFile,
    SEXTON_METRICS_PORT: 'off',
    ...(settings.databaseUrl !== undefined && { SEXTON_DATABASE_URL: settings.databaseUrl }),
  }
  const startedMs = performance.now()
  const child = spawn(process.execPath, [BUILT_PROGRAM, 'start'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = keepOutput(child)
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  return {
    url,
    pid: child.pid ?? 0,
    startedMs,
    async get(path) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`sexton ended by itself:\n${output.text}`)
      return getJson(url + path)
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
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

async function getJson(url: string): Promise<SextonAnswer | undefined> {
  try {
    const answer = await fetch(url)
    return { status: answer.status, body: await answer.json() }
  } catch {
    return undefined
  }
}
