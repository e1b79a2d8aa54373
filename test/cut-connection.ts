import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A place in what a process asks of the database. */
export interface Moment {
  /** Words of statements that one connection sends in this order; the moment is at the last. */
  readonly after: readonly string[]
  readonly is: 'asked' | 'answered'
}

/** A TCP proxy to PostgreSQL that cuts a connection at a moment, each time that it is armed. */
export interface CutConnection {
  readonly url: string
  arm(): void
  cuts(): number
  close(): Promise<void>
}

/** `onCut` is called before the connection is cut. */
export async function openCutConnection(
  url: string,
  { after, is }: Moment,
  onCut: () => void = () => undefined,
): Promise<CutConnection> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isArmed = false
  let cuts = 0
  const entry = createServer((near) => {
    const far = connect(Number(port), hostname)
    let seen = 0
    let isDoomed = false
    const cut = () => {
      if (near.destroyed) return
      cuts += 1
      onCut()
      near.destroy()
    }
    near.on('data', (bytes) => {
      while (isArmed && seen < after.length && bytes.includes(after[seen] ?? '')) seen += 1
      if (isArmed && seen === after.length) {
        isArmed = false
        isDoomed = true
      }
      if (isDoomed && is === 'asked') cut()
      else far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (isDoomed) cut()
      else near.write(bytes)
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
    arm() {
      isArmed = true
    },
    cuts: () => cuts,
    async close() {
      for (const socket of sockets) socket.destroy()
      entry.close()
      await once(entry, 'close')
    },
  }
}
