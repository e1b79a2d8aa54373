import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, glob, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#lib/free-port.ts'
import { sleep } from '#lib/sleep.ts'
import { findUnpackedProgram, unpackOnce } from './unpacked-program.ts'

const run = promisify(execFile)

const PROGRAM = { package: 'pgbouncer', path: 'usr/sbin/pgbouncer' }

/** For a machine where the package is unpacked only. */
const LIBRARIES = ['libevent-2.1-7', 'libc-ares2']

/** It refuses to run as root. */
const NOBODY = 65_534

const READY_MS = 10_000

export async function findPgbouncer() {
  const file = await findUnpackedProgram(PROGRAM)
  const environment: NodeJS.ProcessEnv = { PATH: process.env.PATH }
  if (await starts(file, environment)) return { file, environment }
  const paths: string[] = []
  for (const name of LIBRARIES) {
    const folder = await unpackOnce(name)
    for await (const each of glob('usr/lib/*-linux-gnu', { cwd: folder }))
      paths.push(join(folder, each))
  }
  return { file, environment: { ...environment, LD_LIBRARY_PATH: paths.join(':') } }
}

function starts(file: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  return run(file, ['--version'], { env }).then(
    () => true,
    () => false,
  )
}

export interface PgbouncerOptions {
  /** URL of a database behind it. */
  readonly url: string
  readonly mode: 'session' | 'transaction'
  /** Further lines of its settings. */
  readonly settings?: readonly string[]
}

/** A PgBouncer with its own settings otherwise; `url` is that of the database through it. */
export async function startPgbouncer({ url, mode, settings = [] }: PgbouncerOptions) {
  const { file, environment } = await findPgbouncer()
  const folder = await mkdtemp(join(tmpdir(), 'sexton-pgbouncer-'))
  await chmod(folder, 0o755)
  const { hostname, port: serverPort, username, password } = new URL(url)
  const port = await freePort(0)
  const server = `host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`
  const lines = [
    '[databases]',
    `* = ${server}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    ...settings,
  ]
  const ini = join(folder, 'pgbouncer.ini')
  await writeFile(ini, `${lines.join('\n')}\n`)
  const child = spawn(file, [ini], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
  })
  let words = ''
  child.stderr.on('data', (chunk) => {
    words = (words + String(chunk)).slice(-4_000)
  })
  for (let waitedMs = 0; !(await accepts(port)); waitedMs += 20) {
    if (child.exitCode !== null || waitedMs > READY_MS) throw new Error(`PgBouncer: ${words}`)
    await sleep(20)
  }
  const through = new URL(url)
  through.port = String(port)
  return {
    url: through.href,
    async stop(): Promise<void> {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
