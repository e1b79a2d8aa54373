import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { seedCallers } from './api/accounts.ts'
import { makeRegister } from './api/sexton-register.ts'
import { startService } from './api/sexton-service.ts'

/** Memory that idle keep-alive connections cost the API, each after one keyed call. */
const { values } = parseArgs({ options: { connections: { type: 'string', default: '10000' } } })
const connections = Number(values.connections)

/** Few enough that no address is crowded out. */
const PER_ADDRESS = 400

/** As many as are opened at once; a listening socket's queue is bounded. */
const AT_ONCE = 100

const QUOTA = 1_000_000_000
const SETTLE_MS = 500

const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-idle-'))
const sockets: Socket[] = []
try {
  await makeRegister(folder, undefined)
  const { secretsFile } = await seedCallers(
    { folder },
    { wallets: 1, keysPerWallet: 1, balance: 0n },
  )
  const [secret = ''] = (await readFile(secretsFile, 'utf8')).split('\n')
  const quotas = { anonymous: QUOTA, free: QUOTA, premium: QUOTA }
  const service = await startService({ folder, core: 0, quotas })
  try {
    // The code that the first calls compile is not the connections'.
    for (let round = 0; round < 20; round += 1) await open(service.url, secret, AT_ONCE)
    closeAll()
    await pause()
    const before = await residentBytes(service.pid)
    while (sockets.length < connections)
      await open(service.url, secret, Math.min(AT_ONCE, connections - sockets.length))
    await pause()
    const openNow = sockets.filter((socket) => !socket.closed).length
    const after = await residentBytes(service.pid)
    const each = (after - before) / connections
    process.stdout.write(
      `${openNow} idle connections: ${megabytes(before)} before, ${megabytes(after)} with them, ${(each / 1_000).toFixed(1)} kB each\n`,
    )
    process.exitCode = openNow === connections ? 0 : 1
  } finally {
    closeAll()
    await service.stop()
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function open(url: string, secret: string, count: number): Promise<void> {
  const { port, host } = new URL(url)
  const request = `GET /api/burns?period=1d HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  await Promise.all(
    Array.from({ length: count }, async () => {
      const localAddress = `127.0.0.${2 + Math.floor(sockets.length / PER_ADDRESS)}`
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress })
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.write(request)
      const [answer] = await once(socket)
      if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer.slice(0, 200))
    }),
  )
}

function once(socket: Socket): Promise<[string]> {
  return new Promise((resolve, reject) => {
    socket.once('data', (data) => resolve([data.toString('latin1')]))
    socket.once('close', () => reject(new Error('a connection was closed')))
  })
}

function closeAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy()
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
}
