import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Command } from 'commander'
import { findMissing, heavyModules, postgresModule } from './check/needs.ts'
import { runTests } from './check/run-tests.ts'
import { selectTests } from './check/select-tests.ts'
import { openTestStage } from './check/test-stage.ts'

/** Types and lint take seconds. */
const staticTimeoutMs = 5 * 60_000

/** Keeps what was checked for the next run, which checks what changed. */
const typesParameters = [
  ...['--noEmit', '--incremental'],
  ...['--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
]

type Step = { readonly name: string; readonly ok: boolean; readonly seconds: number }

const buildModule = 'tools/build.ts'

const root = join(import.meta.dirname, '..')
const write = (text: string): void => void process.stdout.write(text)
const program = new Command('npm test --')
  .description('Checks types and lint, then runs the tests.')
  .option('--quick', 'leave out test files that need a chain, PostgreSQL, a browser or a tracer')
  .argument('[filters...]', 'only tests whose path contains one of these')
  .parse()
const steps = await check(program.args, program.opts<{ quick?: boolean }>().quick === true)
for (const { name, ok, seconds } of steps)
  write(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds.toFixed(1)} s)\n`)
process.exitCode = steps.length > 0 && steps.every(({ ok }) => ok) ? 0 : 1

/** Types and lint at the same time, then the tests whose path contains one of the filters. */
async function check(filters: readonly string[], isQuick: boolean): Promise<readonly Step[]> {
  const files = await selectTests(root, { filters, without: isQuick ? heavyModules : [] })
  if (files.length === 0) {
    process.stderr.write(`No test file matches ${filters.join(' ')}\n`)
    return []
  }
  const done = await Promise.all([
    runStep({ name: 'types', command: bin('tsc'), parameters: typesParameters }),
    runStep({
      name: 'types of the page',
      command: bin('tsc'),
      parameters: ['-p', 'console', '--noEmit'],
    }),
    runStep({ name: 'lint', command: bin('biome'), parameters: ['check', '.'] }),
  ])
  const started = performance.now()
  const ok = await runFiles(isQuick ? files : await possible(files))
  return [...done, { name: 'tests', ok, seconds: (performance.now() - started) / 1000 }]
}

/** Leaves out, by name, the files that need what this machine lacks. */
async function possible(files: readonly string[]): Promise<readonly string[]> {
  let left = files
  for (const { module, reason } of await findMissing(await usedBy(files))) {
    const kept = await selectTests(root, { filters: left, without: [module] })
    for (const file of left) if (!kept.includes(file)) write(`skipped ${file}: ${reason}\n`)
    left = kept
  }
  return left
}

/** The heavy modules that some of the files import. */
async function usedBy(files: readonly string[]): Promise<readonly string[]> {
  const used: string[] = []
  for (const module of heavyModules) {
    const kept = await selectTests(root, { filters: files, without: [module] })
    if (kept.length < files.length) used.push(module)
  }
  return used
}

async function runFiles(files: readonly string[]): Promise<boolean> {
  const used = await usedBy(files)
  const postgres = files.length > 1 && used.includes(postgresModule)
  const withoutBuild = await selectTests(root, { filters: files, without: [buildModule] })
  const stage = await openTestStage({ postgres, build: withoutBuild.length < files.length })
  try {
    return await runTests({ root, files, write })
  } finally {
    await stage.close()
  }
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
  write(output.join(''))
  return { name, ok: code === 0, seconds: (performance.now() - started) / 1000 }
}

function bin(name: string): string {
  return join(root, 'node_modules', '.bin', name)
}
