import { connect, type Socket } from 'node:net'

/** One reader of the stream, as cheap as a client can be. */
export class Reader {
  /** Sequences of the events received, in order. */
  readonly sequences: number[] = []
  readonly arrivedMs: number[] = []
  id = ''
  #socket: Socket | undefined
  #text = ''
  #opened = Promise.withResolvers<void>()

  /** Resolves with the first event. */
  open(origin: string, secret: string): Promise<void> {
    const { port } = new URL(origin)
    this.#text = ''
    this.#opened = Promise.withResolvers()
    const last = this.id === '' ? '' : `Last-Event-ID: ${this.id}\r\n`
    const socket = connect(Number(port), '127.0.0.1')
    socket.setEncoding('utf8').on('data', (part: string) => this.#take(part))
    socket.on('error', (error) => this.#opened.reject(error))
    socket.write(
      `GET /api/stream?kind=burn HTTP/1.1\r\nHost: local\r\nAuthorization: Bearer ${secret}\r\n${last}\r\n`,
    )
    this.#socket = socket
    return this.#opened.promise
  }

  close(): void {
    this.#socket?.destroy()
  }

  #take(part: string): void {
    const blocks = (this.#text + part).split('\n\n')
    this.#text = blocks.pop() ?? ''
    for (const block of blocks) {
      const id = /^id: (\S+)$/m.exec(block)?.[1]
      if (id === undefined) continue
      this.id = id
      const event = /^event: (\S+)$/m.exec(block)?.[1]
      if (event === 'ready') this.#opened.resolve()
      if (event !== 'add') continue
      this.sequences.push(Number(id.split('.')[1]))
      this.arrivedMs.push(Date.now())
    }
  }
}
