import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '#domain/refusal.ts'

/** Every body of this API is a few fields; a longer one is a mistake or an attack. */
export const BODY_BYTES_MAX = 8_192

/** Exactly these spellings, so that no odd white space reads differently at a proxy. */
const JSON_TYPE = /^application\/json(?:; ?charset="?utf-8"?)?$/i

/** Refuses a request without a host, or with two (RFC 9112, 3.2); Node joins them with a comma. */
export function checkHost({ headers, httpVersion }: IncomingMessage): Refusal | undefined {
  const { host } = headers
  if (host === undefined)
    return httpVersion === '1.0'
      ? undefined
      : refuse('invalid_parameter', 'the Host header is missing')
  return /[,\s]/.test(host)
    ? refuse('invalid_parameter', 'the Host header must name one host')
    : undefined
}

/** Whether a body was announced, be it in chunks. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Size and type of a request, judged by its headers before a byte of the body is read. */
export function checkFraming(request: IncomingMessage): Refusal | undefined {
  if (!hasBody(request)) return undefined
  const { headers, method } = request
  if (method !== 'POST') return refuse('invalid_body', `${method} takes no body`)
  if (Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX) return tooLarge()
  if (headers['content-encoding'] !== undefined)
    return refuse('unsupported_media_type', 'send the body without Content-Encoding')
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    return refuse('unsupported_media_type', 'send the body as application/json in UTF-8')
  return undefined
}

/** The refusal of a body over the limit, known from its length or met while reading. */
export function tooLarge(): Refusal {
  return refuse('payload_too_large', `the body may have at most ${BODY_BYTES_MAX} bytes`)
}

/** The path of a request target: origin form, absolute form (RFC 9112, 3.2.2) or anything else. */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}

/**
 * Whether the path is written in the one way that this API knows. No path here needs an escape, so
 * an escape, a fragment or a parameter of a path segment is an attempt at an alias.
 */
export function isCanonical(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index)
    if (code === 37 || code === 35 || code === 59 || code === 92 || code < 33 || code > 126)
      return false
  }
  return path.startsWith('/')
}
