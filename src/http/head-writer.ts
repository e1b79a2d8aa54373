import type { ServerResponse } from 'node:http'
import type { Clock } from '#lib/clock.ts'
import { CONSTANT_HEADERS, KEEP_ALIVE_HEADER } from './constant-headers.ts'
import type { Outgoing } from './exchange.ts'

/** What an answer gets besides its own headers. */
export interface Stamp {
  readonly requestId: string
  /** Whether the connection ends with this answer. */
  readonly close: boolean
}

/** Where Node keeps the head of an answer; not documented, so it is looked at before it is relied on. */
interface WithHead {
  _header: string
}

/** What no value of a header may contain, as Node itself checks it (RFC 9110, 5.5). */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Writes the heads of answers. Node looks at every name and value, constant ones too; that took 6 % of
 * the time of a call. So the usual head, a 200 on a connection that stays, is put together here, where
 * only values that change are looked at. The first such head is written by Node: unless ours is the
 * same to the letter, Node writes all others too.
 */
export class HeadWriter {
  readonly #clock: Clock
  /** What follows the date, as Node wrote it; null where its heads are not what is known here. */
  #afterDate: string | null | undefined
  #date = ''
  #dateUnix = Number.NaN

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock
  }

  write(response: ServerResponse, outgoing: Outgoing, stamp: Stamp): void {
    const text = this.#afterDate === null ? undefined : textUntilDate(response, outgoing, stamp)
    if (text !== undefined && typeof this.#afterDate === 'string') {
      const head = `${text}Date: ${this.#dateNow()}\r\n${this.#afterDate}`
      if (setHead(response, head)) return
    }
    const headers = stampedHeaders(outgoing, stamp)
    if (!stamp.close && response.shouldKeepAlive) headers.push(...KEEP_ALIVE_HEADER)
    response.writeHead(outgoing.status, headers)
    if (text !== undefined) this.#afterDate = afterDate(response, text)
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

/** The complete header list, names and values in turn. */
export function stampedHeaders(
  { status, headers, body }: Outgoing,
  { requestId, close }: Stamp,
): string[] {
  headers.push(...CONSTANT_HEADERS, 'X-Request-Id', requestId)
  if (status !== 204 && status !== 304)
    headers.push('Content-Length', String(Buffer.byteLength(body)))
  if (close) headers.push('Connection', 'close')
  return headers
}

/** How Node ends a head on a connection that stays. */
const USUAL_END = /^Date: [^\r\n]+\r\n(Connection: keep-alive\r\n\r\n)$/

const CONSTANT_LINES = linesOf(CONSTANT_HEADERS)
const KEEP_ALIVE_LINE = linesOf(KEEP_ALIVE_HEADER)

/** A head as far as Node adds nothing, or undefined where it is not the usual one. */
function textUntilDate(
  response: ServerResponse,
  { status, headers, body }: Outgoing,
  { requestId, close }: Stamp,
): string | undefined {
  if (status !== 200 || close || !response.shouldKeepAlive) return undefined
  if (response.req.httpVersion !== '1.1') return undefined
  for (let index = 1; index < headers.length; index += 2)
    if (UNFIT.test(headers[index] ?? '')) return undefined
  const length = Buffer.byteLength(body)
  return `HTTP/1.1 200 OK\r\n${linesOf(headers)}${CONSTANT_LINES}X-Request-Id: ${requestId}\r\nContent-Length: ${length}\r\n${KEEP_ALIVE_LINE}`
}

function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let index = 0; index < headers.length; index += 2)
    lines += `${headers[index]}: ${headers[index + 1]}\r\n`
  return lines
}

function setHead(response: ServerResponse, head: string): boolean {
  if (!hasHead(response)) return false
  response._header = head
  return true
}

/** Before a head is written, Node keeps null there. */
function hasHead(response: ServerResponse): response is ServerResponse & WithHead {
  return '_header' in response
}

function afterDate(response: ServerResponse, untilDate: string): string | null {
  const head: unknown = hasHead(response) ? response._header : undefined
  if (typeof head !== 'string' || !head.startsWith(untilDate)) return null
  return USUAL_END.exec(head.slice(untilDate.length))?.[1] ?? null
}
