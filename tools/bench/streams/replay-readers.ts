import { connect } from 'node:net'

/**
 * Anonymous streams that replay the feed from its start, each from an address of its own, in a process
 * of their own. Prints what they read, once all are at the end or the time is over.
 */
export interface ReplayInput {
  readonly port: number
  readonly readers: number
  /** The cursor to start after, and the sequence of the last change. */
  readonly cursor: string
  readonly last: number
  readonly seconds: number
}

export interface Replayed {
  readonly megabytes: number
  /** Of the readers, those at the end. */
  readonly ended: number
  /** How far the one that is least far has come. */
  readonly slowest: number
  readonly seconds: number
}

const input: ReplayInput = JSON.parse(process.argv[2] ?? '{}')
const { port, readers, cursor, last } = input
const query = `cursor=${cursor}`
const startedMs = performance.now()
const sequences = new Array<number>(readers).fill(0)
let bytes = 0
let ended = 0

for (let index = 0; index < readers; index += 1) open(index)
setTimeout(finish, input.seconds * 1_000)

function open(index: number): void {
  const localAddress = `127.0.${1 + (index >> 8)}.${index & 255}`
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.write(`GET /api/stream?${query} HTTP/1.1\r\nHost: local\r\n\r\n`)
  socket.on('error', fail)
  socket.on('data', (part: Buffer) => {
    if (bytes === 0 && !part.subarray(0, 12).equals(Buffer.from('HTTP/1.1 200')))
      fail(new Error(part.toString()))
    bytes += part.length
    const at = part.lastIndexOf('\nid: ')
    if (at < 0) return
    const id = /^\nid: [0-9a-f]+[.](\d+)/.exec(part.toString('latin1', at, at + 60))
    if (id === null || sequences[index] === last) return
    sequences[index] = Number(id[1])
    if (sequences[index] !== last) return
    ended += 1
    if (ended === readers) finish()
  })
}

function finish(): never {
  const seconds = (performance.now() - startedMs) / 1_000
  const slowest = Math.min(...sequences)
  const result: Replayed = { megabytes: bytes / 1e6, ended, slowest, seconds }
  process.stdout.write(JSON.stringify(result))
  process.exit(0)
}

function fail(error: Error): never {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
