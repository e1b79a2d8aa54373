import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '#lib/free-port.ts'
import { findDebianProgram } from '#test/debian-program.ts'

const POLL_MS = 20
const READY_TIMEOUT_MS = 10_000

/**
 * A Redis in memory only, as limiters use it: it forgets everything when it ends. With `durable` an answer
 * waits until what it counted is on the disk, which is the promise of Sexton.
 */
export async function startRedis(input: {
  readonly core: number
  readonly folder: string
  readonly durable: boolean
}) {
  const program = await findDebianProgram(process.env, {
    names: ['redis-server'],
    missing: 'the benchmark needs Redis: apt-get install redis-server',
  })
  const port = await freePort()
  const kept = input.durable ? ['yes', '--appendfsync', 'always'] : ['no']
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', input.folder]
  const flags = [...place, '--save', '', '--appendonly', ...kept]
  const child = spawn('taskset', ['-c', String(input.core), program, ...flags], {
    cwd: input.folder,
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  const endMs = performance.now() + READY_TIMEOUT_MS
  while (!(await listens(port))) {
    if (performance.now() > endMs) throw new Error('Redis did not start')
    await sleep(POLL_MS)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
