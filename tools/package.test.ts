import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { localFile } from '#main/local-chains.ts'
import { copySharedHistory } from '#test/start-own-devnet.ts'
import packageJson from '../package.json' with { type: 'json' }
import { buildService } from './build.ts'
import { assertPages } from './pages-of-files.ts'

const run = promisify(execFile)
const PACKED = `sexton-${packageJson.version}.tgz`
const ROOT = join(import.meta.dirname, '..')
const MODULES = join(ROOT, 'node_modules')
const WARN = 40
const environment = { PATH: process.env.PATH, SEXTON_METRICS_PORT: 'off' }

/** Where the package is. */
let project: string
before(async (context) => {
  project = await temporaryFolder(context as TestContext)
  await buildService()
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: ROOT })
})

test('the package holds what it runs and no TypeScript but types and examples', async () => {
  const { stdout } = await run('tar', ['-tzf', PACKED], { cwd: project })
  const files = stdout.trimEnd().split('\n')
  assert.ok(files.includes('package/dist/cli/sexton.js'))
  assert.deepEqual(
    files.filter((file) => /\.m?ts$/.test(file) && !file.startsWith('package/examples/')).sort(),
    ['package/dist/client/client.d.ts', 'package/dist/ecosystem/define-ecosystem.d.ts'],
  )
})

test('at most six packages come along, and 80 MB', async (context) => {
  const folder = await temporaryFolder(context)
  const flags = ['--prefer-offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...flags, join(project, PACKED)], { cwd: folder })
  const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
  const names = Object.keys(lock.packages)
  assert.ok(names.includes('node_modules/sexton') && names.length <= 6, names.join())
  const { stdout } = await run('du', ['-sm', join(folder, 'node_modules')])
  assert.ok(Number.parseInt(stdout, 10) <= 80, stdout)
})

test('the examples run from the package, with the packages that they name', async (context) => {
  const { folder } = await install(context)
  const examples = join(folder, 'node_modules/sexton/examples')
  for (const name of ['agent.js', 'cast.js']) {
    const [, named = ''] =
      /npm install (.*)/.exec(await readFile(join(examples, name), 'utf8')) ?? []
    for (const each of named.split(' ')) await link(folder, each).catch(() => undefined)
  }
  const privateKey = `0x${'11'.repeat(32)}`
  const agent = [join(examples, 'agent.js'), 'http://127.0.0.1:9/api/stats']
  const env = { ...environment, PRIVATE_KEY: privateKey }
  const failed = await run(process.execPath, agent, { env }).catch((error) => error)
  assert.match(failed.stderr, /fetch failed/, 'everything that it imports is there')
  const cast = [join(examples, 'cast.js'), 'wallet', 'address']
  assert.match((await run(process.execPath, cast, { env })).stdout, /^0x[0-9a-fA-F]{40}\n$/)
})

test('in an empty folder a start says in three lines how to write a file, and leaves nothing there', async (context) => {
  const { program } = await install(context)
  const cwd = await temporaryFolder(context)
  const start = run(process.execPath, [program, 'start'], { cwd, env: environment })
  const { stdout, stderr, code } = await start.catch((error) => error)
  assert.match(
    stderr,
    /^sexton: there is no sexton\.config\.ts here.*\n.*npx sexton init <token.*\n.*\n$/,
  )
  assert.deepEqual([stdout, code, await readdir(cwd)], ['', 2, []])
})

test('an older Node is told what to install here, and runs what was installed', async (context) => {
  const { folder, program } = await install(context)
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })`
  const parameters = ['--import', `data:text/javascript,${older}`, program, '--version']
  const refused = await run(process.execPath, parameters, { env: environment }).catch(
    (error) => error,
  )
  assert.match(refused.stderr, /needs Node 26 .* npm install node@26 --ignore-scripts=false\n$/)
  assert.equal(refused.code, 2)
  await link(folder, 'node')
  const { stdout } = await run(process.execPath, parameters, { env: environment })
  assert.equal(stdout.trim(), packageJson.version)
})

test('the package starts on local chains where anvil is installed, serves each kind of page, and warns of nothing until Ctrl+C', async (context) => {
  const { folder, program } = await install(context)
  const start = ['start', '--port', '0']
  await mkdir(join(folder, 'node_modules/@foundry-rs'))
  const anvil = await readFile(join(MODULES, '@foundry-rs/anvil/package.json'), 'utf8')
  const packages = ['@foundry-rs/anvil', ...Object.keys(JSON.parse(anvil).optionalDependencies)]
  for (const name of packages) await link(folder, name)
  await copySharedHistory(join(folder, '.sexton/chains'))
  const { printed, log } = await startUntil({
    ...{ folder, program, parameters: start, line: 'Stop with Ctrl+C', signal: 'SIGINT' },
    meanwhile: (said) => assertPages(/http:\/\/localhost:\d+/.exec(said)?.[0] ?? ''),
  })
  assert.doesNotMatch(printed, /warning/i)
  const lines = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string })
  const warnings = lines.filter(({ level }) => level >= WARN)
  assert.deepEqual(warnings, [])
  const stopping = lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('stopping: '))
  assert.deepEqual(stopping, [
    'stopping: waiting for answers in flight',
    'stopping: waiting for the index and the jobs',
    'stopping: saving the local chains',
  ])
})

const PAYOUTS = `import type { DividendRow, ModuleEvent } from 'sexton'
type PaidOut = ModuleEvent<{ wallets: string[]; amounts: bigint[] }>
export function rows({ args }: PaidOut): DividendRow[] {
  return args.wallets.map((recipient, index) => ({ recipient, amount: args.amounts[index] ?? 0n }))
}
`

test('an ecosystem file and a module import their types from the package, also in a folder without it', async (context) => {
  const { folder, program } = await install(context)
  // Nothing answers there, which the started service says.
  const nowhere = { base: 'http://127.0.0.1:9', ethereum: 'http://127.0.0.1:9' }
  const file = `import { defineEcosystem } from 'sexton'
export default defineEcosystem(${JSON.stringify(localFile(4020, nowhere), null, 2)})
`
  await writeFile(join(folder, 'sexton.config.ts'), file)
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'payouts.ts'), PAYOUTS)
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext']
  const compile = [...flags, 'sexton.config.ts', 'payouts.ts']
  await run(join(MODULES, '.bin/tsc'), compile, { cwd: folder })

  const empty = await temporaryFolder(context)
  await writeFile(join(empty, 'sexton.config.ts'), file)
  await startUntil({
    folder: empty,
    program,
    parameters: ['start', '--port', '0'],
    line: '"state":"failing"',
    // Without a node, the start itself gives up soon.
    codes: [0, 1],
  })
})

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-installed-'))
  context.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Unpacks the package, and links what it depends on from the project's own installation. */
async function install(context: TestContext) {
  const folder = await temporaryFolder(context)
  const target = join(folder, 'node_modules/sexton')
  await mkdir(target, { recursive: true })
  const packed = join(project, PACKED)
  await run('tar', ['-xzf', packed, '--strip-components=1', '-C', target])
  const manifest = JSON.parse(await readFile(join(target, 'package.json'), 'utf8'))
  for (const name of Object.keys(manifest.dependencies)) await link(folder, name)
  return { folder, program: join(target, manifest.bin.sexton) }
}

async function link(folder: string, name: string): Promise<void> {
  const place = join(folder, 'node_modules', name)
  await mkdir(dirname(place), { recursive: true })
  await symlink(join(MODULES, name), place)
}

interface Start {
  readonly folder: string
  readonly program: string
  readonly parameters: readonly string[]
  /** What it prints when it is up. */
  readonly line: string
  /** 0 unless given. */
  readonly codes?: readonly number[]
  /** SIGTERM unless given. */
  readonly signal?: NodeJS.Signals
  /** What is tried while it is up. */
  readonly meanwhile?: (printed: string) => Promise<void>
}

interface Printed {
  readonly printed: string
  /** Of standard output alone. */
  readonly log: string
}

async function startUntil(start: Start): Promise<Printed> {
  const { folder, program, parameters, line, codes = [0], signal = 'SIGTERM', meanwhile } = start
  const child = spawn(process.execPath, [program, ...parameters], { cwd: folder, env: environment })
  let [printed, log] = ['', '']
  child.stdout.on('data', (chunk) => {
    log += String(chunk)
  })
  const output = new PassThrough().on('data', (chunk) => {
    printed += String(chunk)
  })
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  const ended = once(child, 'close')
  while (!printed.includes(line)) {
    assert.equal(child.exitCode, null, printed)
    await Promise.race([once(output, 'data'), ended])
  }
  try {
    await meanwhile?.(printed)
  } finally {
    child.kill(signal)
  }
  const [code] = await ended
  assert.ok(codes.includes(code), printed)
  return { printed, log }
}
