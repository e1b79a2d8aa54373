import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { sqliteFiles, type Tracing, tracedBy } from '#test/strace.ts'

/** A `sexton start` of its own. */
export interface IndexProcess {
  /** Resolves when it stands at the heads with all history read, or has ended. */
  readonly settled: Promise<'caught-up' | 'ended'>
  /** How it ended. */
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Whether it took so long that it was killed for that. */
  timedOut(): boolean
  /** What it said, newest last. */
  words(): string
  /** Asks it to end. */
  stop(): void
}

/** Where a process runs: its register, its ecosystem and the blocks it must reach. */
export interface IndexPlace {
  readonly folder: string
  readonly ecosystemFile: string
  readonly clockStartMs: number
  /** The last block of each chain. */
  readonly heads: Readonly<Record<string, number>>
}

const root = join(import.meta.dirname, '../../..')
const clock = join(import.meta.dirname, 'fast-clock.ts')

/** A run takes about a second; one that takes this long hangs. */
const RUN_MS = 30_000

/** Starts `sexton start`, with strace beside it where something is to be traced. */
export function startIndexProcess(
  deps: { readonly strace: string },
  place: IndexPlace,
  tracing?: Tracing,
): IndexProcess {
  const command = [process.execPath, '--import', clock, 'src/operations/cli/sexton.mjs', 'start']
  const [program = '', ...flags] = [...wrapper(deps.strace, place, tracing), ...command]
  const child = spawn(program, flags, {
    cwd: root,
    env: { ...process.env, ...environmentOf(place) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, RUN_MS)
  const killAtExit = () => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const exit = once(child, 'exit').then(([code, signal]) => {
    process.off('exit', killAtExit)
    clearTimeout(late)
    return { code, signal }
  })
  const said = listen(child, place.heads)
  return {
    exit,
    settled: Promise.race([said.caughtUp, exit.then(() => 'ended' as const)]),
    timedOut: () => isLate,
    words: said.words,
    stop: () => void child.kill('SIGTERM'),
  }
}

function environmentOf(place: IndexPlace): Readonly<Record<string, string>> {
  return {
    PORT: '0',
    SEXTON_METRICS_PORT: 'off',
    SEXTON_DATA: place.folder,
    SEXTON_ECOSYSTEM: place.ecosystemFile,
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    FAST_CLOCK_START_MS: String(place.clockStartMs),
    // Compiled once for the hundreds of processes of a test.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(place.folder, '..', 'compiled'),
  }
}

function wrapper(strace: string, place: IndexPlace, tracing: Tracing | undefined): string[] {
  if (tracing === undefined) return []
  return tracedBy(strace, sqliteFiles(join(place.folder, 'register.sqlite')), tracing)
}

/** Reads what the index tells of its progress: a line per chain, "indexing base: 7 of 9 ...". */
function listen(child: ChildProcess, heads: Readonly<Record<string, number>>) {
  const waiting = new Set(Object.keys(heads))
  let words = ''
  const caughtUp = new Promise<'caught-up'>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        words = (words + text).slice(-20_000)
        for (const [, chain = '', done, total] of text.matchAll(/indexing (\w+): (\d+) of (\d+)/g))
          if (done === total && Number(done) === heads[chain]) waiting.delete(chain)
        if (waiting.size === 0) resolve('caught-up')
      })
  })
  return { caughtUp, words: () => words }
}
