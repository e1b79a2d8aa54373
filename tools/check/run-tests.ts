import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

export interface TestRun {
  readonly root: string
  /** Paths from the root, in the order to start them. */
  readonly files: readonly string[]
  /** The run is ended when no test has started or ended for this long. */
  readonly stalledAfterMs?: number
  readonly write: (text: string) => void
}

/** As long as the longest that a single test may take; the slowest boot chains, a database and a server. */
const stalledAfterMsUsual = 180_000
/** Two more than there are cores, because many tests wait for a block, a timer or a process. */
const processesAtOnce = Math.min(4, availableParallelism() + 2)
/** Few enough that the last processes end at about the same time. */
const FILES_OF_A_PROCESS = 8

const RUN_FILES = JSON.stringify(pathToFileURL(join(import.meta.dirname, 'run-files.ts')).href)

/**
 * Runs test files and returns whether all passed. A process runs several, one after the other: to read and
 * compile the program anew for each would be a fifth of a run.
 */
export async function runTests({
  root,
  files,
  write,
  stalledAfterMs = stalledAfterMsUsual,
}: TestRun): Promise<boolean> {
  const stalled = new AbortController()
  const running = new Set<string>()
  const timer = setTimeout(() => {
    write(`\nNothing has moved for ${stalledAfterMs / 1000} s in ${[...running].join(', ')}\n`)
    stalled.abort()
  }, stalledAfterMs)
  const folder = await mkdtemp(join(tmpdir(), 'sexton-tests-'))
  const tests = run({
    cwd: root,
    files: await writePrograms({ root, files, folder }),
    concurrency: processesAtOnce,
    signal: stalled.signal,
  })
  let ok = false
  const known = new Set(files)
  tests.on('test:dequeue', ({ name }) => {
    timer.refresh()
    if (known.has(name)) running.add(name)
  })
  const seconds = new Map<string, number>()
  tests.on('test:complete', ({ name, details }) => {
    timer.refresh()
    if (!running.delete(name)) return
    seconds.set(name, details.duration_ms / 1_000)
  })
  tests.on('test:summary', ({ file, success }) => {
    if (file === undefined) ok = success
  })
  try {
    for await (const text of tests.compose(new spec())) write(text)
    write(`\n${slowest(seconds)}\n`)
  } finally {
    clearTimeout(timer)
    await rm(folder, { recursive: true })
  }
  return ok && !stalled.signal.aborted
}

/** Programs that run some of the files each, as tests named by the files. */
async function writePrograms(input: {
  readonly root: string
  readonly files: readonly string[]
  readonly folder: string
}): Promise<string[]> {
  const { root, files, folder } = input
  const count = Math.ceil(files.length / FILES_OF_A_PROCESS)
  const names = Array.from({ length: count }, (_, index) => join(folder, `${index}.mjs`))
  for (const [index, name] of names.entries()) {
    // Dealt like cards, so that each gets one of the slow files, which come first.
    const own = JSON.stringify([root, files.filter((_, dealt) => dealt % count === index)])
    await writeFile(name, `import { runFiles } from ${RUN_FILES}\nawait runFiles(...${own})\n`)
  }
  return names
}

const SHOWN = 10

function slowest(seconds: ReadonlyMap<string, number>): string {
  const files = [...seconds].sort(([, one], [, other]) => other - one).slice(0, SHOWN)
  return files.map(([file, each]) => `${each.toFixed(1).padStart(6)} s  ${file}`).join('\n')
}
