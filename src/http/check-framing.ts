import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '#domain/refusal.ts'

/** Every body of this API is a few fields; a longer one is a mistake or an attack. */
export const BODY_BYTES_MAX = 8_192

/** Exactly these spellings, so that no odd white space reads differently at a proxy. */
const JSON_TYPE = /^application\/json(?:; ?charset="?utf-8"?)?$/i

/** Whether a request names the host that it means, as HTTP/1.1 demands (RFC 9112, 3.2). */
export function namesHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion === '1.0'
}

/** Size and type of a request, judged by its headers before a byte of the body is read. */
export function checkFraming(request: IncomingMessage): Refusal | undefined {
  const { headers, method } = request
  const length = headers['content-length']
  const bodyless = headers['transfer-encoding'] === undefined && (length ?? '0') === '0'
  if (bodyless) return undefined
  if (method !== 'POST') return refuse('invalid_body', `${method} takes no body`)
  if (Number(length ?? 0) > BODY_BYTES_MAX) return tooLarge()
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
