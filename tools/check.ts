import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { Command } from 'commander'
import { findChromium } from '#test/chromium.ts'
import { SHARED_POSTGRES, startPostgres } from '#test/postgres.ts'

/** A test that takes longer hangs; the slowest boot chains, a database and a server. */
const testTimeoutMs = 180_000
/** One more than there are cores, because many tests wait for a block, a timer or a process. */
const testFilesAtOnce = Math.min(4, availableParallelism() + 1)
/** A full run takes minutes, more on a slow machine; beyond this it hangs. */
const runTimeoutMs = 15 * 60_000
/** Types and lint take seconds. */
const staticTimeoutMs = 5 * 60_000

/** Started first, so that no long file runs alone at the end. */
const slowTests = ['test/accounts/', 'test/x402/', 'test/end', 'test/', 'devnet/', 'src/store/']

const testFiles = ['src', 'devnet', 'contracts', 'test', 'tools'].map(
  (top) => `${top}/**/*.test.ts`,
)

type Step = { readonly name: string; readonly ok: boolean; readonly seconds: number }

const root = join(import.meta.dirname, '..')
const program = new Command('npm test --')
  .description('Checks types and lint, then runs the tests.')
  .argument('[filters...]', 'only tests whose path contains one of these')
  .parse()
const steps = await check(program.args)
for (const { name, ok, seconds } of steps) {
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds.toFixed(1)} s)\n`)
}
process.exitCode = steps.length > 0 && steps.every(({ ok }) => ok) ? 0 : 1

/** Types and lint at the same time, then the tests whose path contains one of the filters. */
async function check(filters: readonly string[]): Promise<readonly Step[]> {
  const statics = [
    runStep({ name: 'types', command: bin('tsc'), parameters: ['--noEmit'] }),
    runStep({ name: 'lint', command: bin('biome'), parameters: ['check', '.'] }),
  ]
  const files = await selectTests(filters)
  if (files.length === 0) {
    process.stderr.write(`No test file matches ${filters.join(' ')}\n`)
    return []
  }
  const done = await Promise.all(statics)
  const browser = await browserStep(files)
  return [...done, ...browser, await testStep(files)]
}

/** Runs the files in their order, on one PostgreSQL. */
async function testStep(files: readonly string[]): Promise<Step> {
  const started = performance.now()
  const postgres = files.length > 1 ? await startPostgres({ own: true }) : undefined
  if (postgres !== undefined) process.env[SHARED_POSTGRES] = postgres.url
  const tests = run({
    cwd: root,
    files: files.map((file) => join(root, file)),
    concurrency: testFilesAtOnce,
    timeout: testTimeoutMs,
    signal: AbortSignal.timeout(runTimeoutMs),
  })
  let ok = false
  tests.on('test:summary', ({ file, success }) => {
    if (file === undefined) ok = success
  })
  for await (const text of tests.compose(new spec())) process.stdout.write(text)
  await postgres?.stop()
  return { name: 'tests', ok, seconds: (performance.now() - started) / 1000 }
}

async function selectTests(filters: readonly string[]): Promise<string[]> {
  const all: string[] = []
  for await (const file of glob(testFiles, { cwd: root })) all.push(file.replaceAll('\\', '/'))
  return all
    .sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
}

function rank(file: string): number {
  const found = slowTests.findIndex((start) => file.startsWith(start))
  return found < 0 ? slowTests.length : found
}

/** Finds or installs the browser beforehand, so that no test's time limit pays for a download. */
async function browserStep(files: readonly string[]): Promise<Step[]> {
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')))
  if (!texts.some((text) => text.includes('/chromium.ts'))) return []
  const started = performance.now()
  const ok = await findChromium(process.env).then(
    () => true,
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      return false
    },
  )
  return [{ name: 'browser', ok, seconds: (performance.now() - started) / 1000 }]
}

type StepCommand = {
  readonly name: string
  readonly command: string
  readonly parameters: readonly string[]
}

async function runStep({ name, command, parameters }: StepCommand): Promise<Step> {
  const started = performance.now()
  const child = spawn(command, parameters, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: staticTimeoutMs,
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  const [code] = await once(child, 'close')
  process.stdout.write(output.join(''))
  return { name, ok: code === 0, seconds: (performance.now() - started) / 1000 }
}

function bin(name: string): string {
  return join(root, 'node_modules', '.bin', name)
}
