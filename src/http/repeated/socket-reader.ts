import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Connection } from '../connection.ts'
import { type KnownRequest, type KnownRequests, REQUEST_CHARACTERS_MAX } from './known-requests.ts'

export interface SocketReaderDeps {
  readonly socket: Socket
  readonly connection: Connection
  readonly known: KnownRequests
  /** What Node does with bytes that came. */
  toNode(chunk: Buffer): void
  /** Answers a request that came before; `answered` is told at its end. */
  answer(request: KnownRequest): void
}

const END_OF_HEAD = '\r\n\r\n'

/**
 * Reads a socket. Bytes that Node's parser has read before as one whole GET are not read again: where
 * they come once more between two requests, they mean the same. All else is Node's. While one of the
 * two answers, the other waits, so that answers leave in the order of their requests.
 */
export class SocketReader {
  readonly #deps: SocketReaderDeps
  /** Whether Node's parser has read something, and all of it was whole requests. */
  #isBetween = false
  /** What Node made of the bytes at hand: the newest request, and what it means. */
  #arrived: ServerResponse | undefined
  #meaning: KnownRequest | undefined
  /** What came while a repeated request is being answered; no more is read until then. */
  #held: Buffer | undefined

  constructor(deps: SocketReaderDeps) {
    this.#deps = deps
  }

  read(chunk: Buffer): void {
    if (this.#deps.connection.isRepeating) this.#hold(chunk)
    else this.#readNow(chunk)
  }

  /** Tells of a request that Node has read. */
  arrived(response: ServerResponse): void {
    this.#arrived = response
  }

  /** Tells what it means, while its bytes are at hand. */
  understood(response: ServerResponse, meaning: KnownRequest): void {
    if (response === this.#arrived && isPlain(response)) this.#meaning = meaning
  }

  /** Tells that the answer of a repeated request is written, or that nobody waits for it any more. */
  answered(): void {
    const held = this.#held
    this.#deps.connection.isRepeating = false
    this.#held = undefined
    if (held === undefined || !this.#deps.socket.writable) return
    this.#deps.socket.resume()
    this.#readNow(held)
  }

  #hold(chunk: Buffer): void {
    this.#held = chunk
    this.#deps.socket.pause()
  }

  #readNow(chunk: Buffer): void {
    const isFit = this.#isBetween && chunk.length <= REQUEST_CHARACTERS_MAX
    const text = isFit ? chunk.toString('latin1') : undefined
    const request = text === undefined ? undefined : this.#recognise(text)
    if (request === undefined) this.#readByNode(chunk, text)
    else this.#deps.answer(request)
  }

  #recognise(text: string): KnownRequest | undefined {
    const { connection, known, socket } = this.#deps
    if (!socket.writable || socket.writableNeedDrain) return undefined
    const request = known.find(text)
    return request !== undefined && connection.beginRepeated() ? request : undefined
  }

  #readByNode(chunk: Buffer, text: string | undefined): void {
    this.#deps.toNode(chunk)
    const end = chunk.indexOf(END_OF_HEAD)
    this.#isBetween =
      this.#arrived?.req.complete === true &&
      end !== -1 &&
      end === chunk.length - END_OF_HEAD.length
    // Not the first of a socket: whoever asks once on each would fill the memory for nobody.
    if (this.#isBetween && text !== undefined && this.#meaning !== undefined)
      this.#deps.known.keep(text, this.#meaning)
    this.#arrived = undefined
    this.#meaning = undefined
  }
}

/** Whether the very same bytes would be read the same way, and leave the connection as it is. */
function isPlain({ req, shouldKeepAlive }: ServerResponse): boolean {
  const { method, httpVersion, headers } = req
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    shouldKeepAlive &&
    headers.expect === undefined &&
    headers.upgrade === undefined
  )
}
