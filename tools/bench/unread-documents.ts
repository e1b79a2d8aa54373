import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startHarness } from '#api/pipeline-harness.ts'
import { scalarPages } from '#api/scalar-pages.ts'

/** Many sockets that request the largest document and read nothing: what they cost the server. */

const PATH = '/scalar/v1/scalar.js'
const GROWTH_MB_MAX = 64

if (process.send === undefined) await measure()
else await serve()

async function serve(): Promise<void> {
  const { port } = await startHarness({ pages: scalarPages({ name: 'Bench' }) })
  process.on('message', () => process.send?.({ rss: process.memoryUsage().rss }))
  process.send?.({ port })
}

async function measure(): Promise<void> {
  const { values } = parseArgs({ options: { sockets: { type: 'string', default: '1000' } } })
  const server = fork(fileURLToPath(import.meta.url))
  try {
    const { port } = await messageOf<{ port: number }>(server)
    const bytes = (await (await fetch(`http://127.0.0.1:${port}${PATH}`)).bytes()).length
    const before = await rssMb(server)
    const sockets = await askWithoutReading(port, Number(values.sockets))
    await sleep(3_000)
    const growth = (await rssMb(server)) - before
    const open = sockets.filter((socket) => !socket.destroyed).length
    process.stdout.write(
      `${open} sockets, ${bytes} bytes each: ${growth.toFixed(1)} MB more than ${before.toFixed(1)} MB\n`,
    )
    for (const socket of sockets) socket.destroy()
    process.exitCode = growth < GROWTH_MB_MAX ? 0 : 1
  } finally {
    server.kill()
  }
}

async function askWithoutReading(port: number, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').pause())
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.write(`GET ${PATH} HTTP/1.1\r\nHost: bench\r\n\r\n`)
  }
  await Promise.all(sockets.map((socket) => socket.connecting && once(socket, 'connect')))
  return sockets
}

async function rssMb(server: ReturnType<typeof fork>): Promise<number> {
  const answer = messageOf<{ rss: number }>(server)
  server.send('rss')
  return (await answer).rss / 1_000_000
}

async function messageOf<T>(server: ReturnType<typeof fork>): Promise<T> {
  const [message] = (await once(server, 'message')) as [T]
  return message
}
