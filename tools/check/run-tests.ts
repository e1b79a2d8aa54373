import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

export interface TestRun {
  readonly root: string
  /** Paths from the root, in the order to start them. */
  readonly files: readonly string[]
  /** The run is ended when no test has started or ended for this long. */
  readonly stalledAfterMs?: number
  readonly write: (text: string) => void
}

/** A test that takes longer hangs; the slowest boot chains, a database and a server. */
const testTimeoutMs = 180_000
/** As long as the longest that a single test may take. */
const stalledAfterMsUsual = 180_000
/** Two more than there are cores, because many tests wait for a block, a timer or a process. */
const filesAtOnce = Math.min(4, availableParallelism() + 2)

/** Runs test files, each as a process of its own, and returns whether all passed. */
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
  const tests = run({
    cwd: root,
    files: files.map((file) => join(root, file)),
    concurrency: filesAtOnce,
    timeout: testTimeoutMs,
    signal: stalled.signal,
  })
  let ok = false
  const paths = new Map(files.map((file) => [join(root, file), file]))
  tests.on('test:dequeue', ({ name }) => {
    timer.refresh()
    const file = paths.get(name) ?? paths.get(join(root, name))
    if (file !== undefined) running.add(file)
  })
  const seconds = new Map<string, number>()
  tests.on('test:complete', ({ name, details }) => {
    timer.refresh()
    const file = paths.get(name) ?? paths.get(join(root, name))
    if (file === undefined) return
    running.delete(file)
    seconds.set(file, details.duration_ms / 1_000)
  })
  tests.on('test:summary', ({ file, success }) => {
    if (file === undefined) ok = success
  })
  try {
    for await (const text of tests.compose(new spec())) write(text)
    write(`\n${slowest(seconds)}\n`)
  } finally {
    clearTimeout(timer)
  }
  return ok && !stalled.signal.aborted
}

const SHOWN = 10

function slowest(seconds: ReadonlyMap<string, number>): string {
  const files = [...seconds].sort(([, one], [, other]) => other - one).slice(0, SHOWN)
  return files.map(([file, each]) => `${each.toFixed(1).padStart(6)} s  ${file}`).join('\n')
}
