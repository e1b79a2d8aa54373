import type { Clock } from '#lib/clock.ts'
import { STATUS_CODES } from '#lib/node-http.ts'
import { CONSTANT_HEADERS, KEEP_ALIVE_HEADER } from './constant-headers.ts'
import type { Outgoing } from './exchange.ts'

/** What an answer gets besides its own headers. */
export interface Stamp {
  readonly requestId: string
  /** Whether the connection ends with this answer. */
  readonly close: boolean
}

/** What no value of a header may contain, as Node itself checks it (RFC 9110, 5.5). */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/

const CONSTANT_LINES = linesOf(CONSTANT_HEADERS)
const KEEP_ALIVE_LINE = linesOf(KEEP_ALIVE_HEADER)

/**
 * Puts heads of answers together, as Node does it, for answers that Node does not write. Node looks at
 * every name and value, constant ones too; here only values that change are looked at.
 */
export class HeadWriter {
  readonly #clock: Clock
  #date = ''
  #dateUnix = Number.NaN

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock
  }

  /** The head of an answer to HTTP/1.1, with the empty line behind it; throws at a value that is unfit. */
  write(outgoing: Outgoing, { requestId, close }: Stamp): string {
    const { status, headers, body } = outgoing
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${linesOf(headers)}${CONSTANT_LINES}X-Request-Id: ${requestId}\r\n`
    if (hasBody(outgoing)) head += `Content-Length: ${Buffer.byteLength(body)}\r\n`
    return close
      ? `${head}Connection: close\r\nDate: ${this.#dateNow()}\r\n\r\n`
      : `${head}${KEEP_ALIVE_LINE}Date: ${this.#dateNow()}\r\nConnection: keep-alive\r\n\r\n`
  }

  /** Made once a second (RFC 9110, 5.6.7). */
  #dateNow(): string {
    const now = this.#clock()
    const unix = Math.floor(now / 1000)
    if (unix !== this.#dateUnix) {
      this.#dateUnix = unix
      this.#date = new Date(now).toUTCString()
    }
    return this.#date
  }
}

/** The complete header list for an answer that Node writes, names and values in turn. */
export function stampedHeaders(
  outgoing: Outgoing,
  { requestId, close }: Stamp,
  stays: boolean,
): string[] {
  const headers = [...outgoing.headers, ...CONSTANT_HEADERS, 'X-Request-Id', requestId]
  if (hasBody(outgoing)) headers.push('Content-Length', String(Buffer.byteLength(outgoing.body)))
  if (close) headers.push('Connection', 'close')
  if (stays) headers.push(...KEEP_ALIVE_HEADER)
  return headers
}

/** Whether an answer of this status has a body, be it empty (RFC 9110, 6.4.1). */
export function hasBody({ status }: Outgoing): boolean {
  return status !== 204 && status !== 304
}

function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? ''
    if (UNFIT.test(value))
      throw new TypeError(`Invalid character in header content ["${headers[index]}"]`)
    lines += `${headers[index]}: ${value}\r\n`
  }
  return lines
}
