import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to PostgreSQL that can cut the connection at a commit. */
export interface CutAtCommit {
  readonly url: string
  /** Forwards the next commit, then cuts the connection when the server responds. */
  cutNext(): void
  cuts(): number
  close(): Promise<void>
}

/** Starts the proxy on a free port. */
export async function openCutAtCommit(url: string): Promise<CutAtCommit> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isArmed = false
  let cuts = 0
  const entry = createServer((near) => {
    const far = connect(Number(port), hostname)
    let isDoomed = false
    near.on('data', (bytes) => {
      if (isArmed && bytes.includes('commit')) {
        isArmed = false
        isDoomed = true
      }
      far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (!isDoomed) return void near.write(bytes)
      cuts += 1
      near.destroy()
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
    cutNext() {
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
