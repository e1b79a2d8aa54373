import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of Sexton as a process of its own. */
export async function runSexton(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onChild: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, ['src/cli/sexton.mjs', ...flags], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onChild(child)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...texts }
}

/** A place in what a process asks of the database. */
export interface Moment {
  /** Words of statements that one connection sends in this order; the moment is at the last. */
  readonly after: readonly string[]
  readonly is: 'asked' | 'answered'
}

/** A proxy to PostgreSQL that acts and cuts the connection at a moment, once. */
export async function openWatch(url: string, { after, is }: Moment, act: () => void) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isDone = false
  const entry = createServer((near) => {
    const far = connect(Number(port), hostname)
    let seen = 0
    const cut = () => {
      isDone = true
      act()
      near.destroy()
    }
    near.on('data', (bytes) => {
      while (seen < after.length && bytes.includes(after[seen] ?? '')) seen += 1
      if (!isDone && seen === after.length && is === 'asked') return cut()
      far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (!isDone && seen === after.length) return cut()
      near.write(bytes)
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
  })
  entry.listen(0, '127.0.0.1')
  await once(entry, 'listening')
  const address = entry.address()
  const through = new URL(url)
  if (typeof address === 'object' && address !== null) through.port = String(address.port)
  return {
    url: through.href,
    hasActed: () => isDone,
    async close() {
      for (const socket of sockets) socket.destroy()
      entry.close()
      await once(entry, 'close')
    },
  }
}
