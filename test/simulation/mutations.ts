import { execFile, execFileSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { type Mutation, mutations } from './mutation-table.ts'

/** A rule whose breach so many seeds do not notice is not tested. */
const SEEDS = 60

/** Sixty seeds take less than a minute; a mutation may make every one of them slow. */
const RUN_MS = 400_000

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

const [only] = new Command('node test/simulation/mutations.ts')
  .description(
    'Breaks one rule of the index after another in a copy of the tree and runs the simulation on it. Ends with 1 when a breach is not noticed.',
  )
  .argument('[rule]', 'only rules that contain this text')
  .parse().args

const folder = await mkdtemp(join(tmpdir(), 'sexton-mutations-'))
try {
  await copyTree(folder)
  const unbroken = await failureOf(folder)
  if (unbroken !== undefined) throw new Error(`fails without any mutation: ${unbroken}`)
  let missed = 0
  for (const mutation of mutations.filter(
    ({ rule }) => only === undefined || rule.includes(only),
  )) {
    const noticed = await tryMutation(folder, mutation)
    if (noticed === undefined) missed += 1
    process.stdout.write(`${noticed ? 'noticed' : 'MISSED '}  ${mutation.rule}: ${noticed ?? ''}\n`)
  }
  process.exitCode = missed === 0 ? 0 : 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function copyTree(to: string): Promise<void> {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of listed
    .split('\n')
    .filter((line) => /^(src|test|devnet)\/|^[^/]+\.json$/.test(line))) {
    await mkdir(dirname(join(to, file)), { recursive: true })
    await copyFile(join(root, file), join(to, file)).catch(ignoreMissing)
  }
  await symlink(join(root, 'node_modules'), join(to, 'node_modules'))
}

/** A file may be gone from the work tree while git still lists it. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}

/** Gives the seed that failed and how; undefined when none did. */
async function tryMutation(folder: string, mutation: Mutation): Promise<string | undefined> {
  const path = join(folder, mutation.file)
  const before = await readFile(path, 'utf8')
  const places = before.split(mutation.from).length - 1
  if (places !== 1)
    throw new Error(`"${mutation.rule}": the text stands ${places} times in ${mutation.file}`)
  await writeFile(
    path,
    before.replace(mutation.from, () => mutation.to),
  )
  try {
    return await failureOf(folder, mutation.seed)
  } finally {
    await writeFile(path, before)
  }
}

async function failureOf(folder: string, seed = 1): Promise<string | undefined> {
  const seeds = ['--from', String(seed), '--seeds', String(SEEDS)]
  const parameters = ['test/simulation/main.ts', ...seeds]
  try {
    await run(process.execPath, parameters, { cwd: folder, timeout: RUN_MS })
    return undefined
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    const [seed] = output.match(/^seed \d+$/m) ?? []
    const [failure] = output.match(/^FAILED: .*$/m) ?? []
    if (seed === undefined || failure === undefined)
      throw new Error('the simulation itself broke', { cause: error })
    return `${seed}, ${failure.slice(0, 110)}`
  }
}
