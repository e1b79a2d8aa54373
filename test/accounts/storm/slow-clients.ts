import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const SENDERS = 100
const READERS = 20
const DRIP_MS = 500
const PIPELINED = 200

/** A body far over the limit, of which the service must not wait for the end. */
const HUGE_BYTES = 50_000_000

/**
 * Clients that hold sockets: they send a header byte by byte, ask for hundreds of answers and read
 * none, or announce a huge body and go on sending it. Until told to stop.
 */
export async function clingOn(url: string, stop: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url)
  const open = () => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    return socket
  }
  const again = async (count: number, hold: (socket: Socket) => Promise<void>) => {
    const run = async () => {
      while (!stop.aborted) {
        const socket = open()
        await hold(socket)
        socket.destroy()
        await sleep(DRIP_MS)
      }
    }
    await Promise.all(Array.from({ length: count }, run))
  }
  const isHeld = (socket: Socket) => !stop.aborted && !socket.destroyed
  await Promise.all([
    again(SENDERS, async (socket) => {
      socket.resume()
      socket.write('GET /api/stats HTTP/1.1\r\nHost: api\r\nX-Slow: ')
      while (isHeld(socket)) {
        socket.write('a')
        await sleep(DRIP_MS)
      }
    }),
    again(READERS, async (socket) => {
      socket.pause()
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: api\r\n\r\n'.repeat(PIPELINED))
      while (isHeld(socket)) await sleep(DRIP_MS)
    }),
    again(1, async (socket) => {
      socket.resume()
      const type = 'Content-Type: application/json'
      socket.write(
        `POST /api/keys HTTP/1.1\r\nHost: api\r\n${type}\r\nContent-Length: ${HUGE_BYTES}\r\n\r\n`,
      )
      while (isHeld(socket)) {
        socket.write(Buffer.alloc(65_536, 32))
        await sleep(10)
      }
    }),
  ])
}
