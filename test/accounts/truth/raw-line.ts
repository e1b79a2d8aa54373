import { connect, type Socket } from 'node:net'

/** What a caller reads of an answer. */
export interface RawAnswer {
  readonly status: number
  /** The head of the answer, as it came. */
  readonly head: string
  readonly body: string
}

/** One connection that is kept alive; requests may be sent before earlier ones are answered. */
export interface RawLine {
  /** Resolves with the answer, or with undefined when the connection ended before it. */
  ask(request: string, input: { readonly isHead: boolean }): Promise<RawAnswer | undefined>
  /** Hangs up at once. */
  cut(): void
}

interface Waiting {
  readonly isHead: boolean
  readonly resolve: (answer: RawAnswer | undefined) => void
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Opens a line; a client this small leaves the processor to the server. */
export function openRawLine(url: string): RawLine {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const line = new Line(socket)
  socket.on('data', (chunk: Buffer) => line.read(chunk))
  socket.on('error', () => undefined)
  socket.on('close', () => line.end())
  return line
}

class Line implements RawLine {
  readonly #socket: Socket
  readonly #waiting: Waiting[] = []
  #unread: Buffer = Buffer.alloc(0)
  #isOver = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  ask(request: string, { isHead }: { readonly isHead: boolean }): Promise<RawAnswer | undefined> {
    if (this.#isOver) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting.push({ isHead, resolve })
      this.#socket.write(request, 'latin1')
    })
  }

  cut(): void {
    this.#socket.destroy()
    this.end()
  }

  end(): void {
    this.#isOver = true
    for (const { resolve } of this.#waiting.splice(0)) resolve(undefined)
  }

  read(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk])
    for (;;) {
      const [next] = this.#waiting
      const headEnd = this.#unread.indexOf(HEAD_END)
      if (next === undefined || headEnd === -1) return
      const head = this.#unread.toString('latin1', 0, headEnd + 2)
      const status = Number(head.slice(9, 12))
      const bodyStart = headEnd + HEAD_END.length
      const hasBody = !next.isHead && status !== 204 && status !== 304
      const end = bodyStart + (hasBody ? Number(headerOf(head, 'content-length') ?? 0) : 0)
      if (this.#unread.length < end) return
      const body = this.#unread.toString('latin1', bodyStart, end)
      this.#unread = this.#unread.subarray(end)
      this.#waiting.shift()
      next.resolve({ status, head, body })
    }
  }
}

const patterns = new Map<string, RegExp>()

/** A header of an answer by its lower-case name; undefined when it is missing. */
export function headerOf(head: string, name: string): string | undefined {
  const pattern = patterns.get(name) ?? new RegExp(`\\r\\n${name}: ([^\\r]*)`, 'i')
  patterns.set(name, pattern)
  return pattern.exec(head)?.[1]
}

/** A header that must be a number; NaN when it is missing. */
export function numberOf(head: string, name: string): number {
  return Number(headerOf(head, name) ?? Number.NaN)
}
